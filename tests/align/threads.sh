#!/usr/bin/env bash
# The number of threads changes nothing; the seed does.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

options=(--sft-steps 30 --steps 30 --hidden 24 --quiet)
succeeds "${options[@]}" --threads 1 --out one
succeeds "${options[@]}" --threads 2 --out two
succeeds "${options[@]}" --threads 5 --out five
for other in two five; do
    for file in metrics.csv samples.txt report.txt; do
        cmp "one/$file" "$other/$file" || fail "$file depends on the number of threads"
    done
done
succeeds "${options[@]}" --seed 2 --out seed
if cmp -s one/metrics.csv seed/metrics.csv; then fail "the seed changes nothing"; fi
