#!/usr/bin/env bash
# One loss on the embedded task: it must make the policy truly better, at a finite distance.
# usage: loss.sh ALIGN SCRATCH LOSS [OPTION…]
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
shift 2

succeeds --loss "$@" --sft-steps 120 --steps 120 --batch 32 --hidden 32 --threads 2 --out out
for file in metrics.csv samples.txt report.txt; do
    [[ -s out/$file ]] || fail "there is no $file"
done
if command -v gnuplot >/dev/null; then
    [[ $(head -c 4 out/curves.png | tail -c 3) == PNG ]] || fail "curves.png is no PNG"
else
    says "There is no curves.png: gnuplot is not installed."
fi
[[ $(wc -l <out/metrics.csv) -eq 241 ]] || fail "metrics.csv does not have a line for each step"
cat out/report.txt

win_rate=$(number out "true win rate, aligned against SFT")
kl=$(number out "KL(aligned || SFT), nats")
holds "$win_rate > 0.55 && $win_rate < 1"
holds "$kl > 0.005 && $kl < 50"
holds "$(number out "on held-out responses") < $(number out "unigram model, on held-out responses")"
[[ -z $(find out -name '*.part') ]] || fail "a temporary file is left over"
