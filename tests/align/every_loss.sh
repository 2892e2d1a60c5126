#!/usr/bin/env bash
# Every loss that the program lists runs.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

succeeds --list-losses
cut -d ' ' -f 1 output >names
[[ $(wc -l <names) -ge 21 ]] || fail "there are but $(wc -l <names) losses"
while read -r name; do
    succeeds --loss "$name" "${tiny[@]}" --out "$name"
    says "Alignment with $name"
done <names
