#!/usr/bin/env bash
# Killed again and again and resumed, a run ends with the same bits; with anything changed it refuses.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

options=(--sft-steps 250 --steps 250 --batch 16 --hidden 16)
succeeds "${options[@]}" --out whole

kills=0
wait_for=0.1
while true; do
    "$align" "${options[@]}" --out parts --threads 2 --save-every 7 --resume >output 2>errors &
    process=$!
    # From the second time on there is something to resume from; then kill a bit later each time.
    for _ in {1..100}; do
        if [[ -e parts/checkpoint ]] || ! kill -0 $process 2>/dev/null; then break; fi
        sleep 0.02
    done
    sleep $wait_for
    if [[ $kills -ge 4 ]] || ! kill -9 $process 2>/dev/null; then
        wait $process || fail "the resumed run failed: $(cat errors)"
        break
    fi
    wait $process 2>/dev/null || true
    kills=$((kills + 1))
    wait_for=$(awk "BEGIN { print $wait_for + 0.13 }")
done
echo "killed $kills times"
[[ $kills -ge 1 ]] || fail "the run ended before it could be killed"
for file in metrics.csv samples.txt report.txt; do
    cmp "whole/$file" "parts/$file" || fail "$file differs after $kills kills"
done
succeeds "${options[@]}" --out parts --save-every 7 --resume
says "Resumed after 250 steps of fine-tuning and 250 of alignment."
cmp whole/metrics.csv parts/metrics.csv

complains "--set beta was 0.1 there and is 0.2 now" "${options[@]}" --beta 0.2 --out parts --resume
complains "--set margin_of was summed there and is averaged now" "${options[@]}" \
    --set margin_of=averaged --out parts --resume
complains "--loss was dpo there and is slic now" "${options[@]}" --loss slic --out parts --resume
complains "--seed was 1 there and is 3 now" "${options[@]}" --seed 3 --out parts --resume
complains "the data was" "${options[@]}" --data "$data/strings.jsonl" --out parts --resume \
    --window 6 --embedding 12 --lr 1e-3 --sft-lr 3e-3

cp parts/checkpoint good
printf 'X' | dd of=parts/checkpoint bs=1 seek=500 conv=notrunc 2>/dev/null
complains "the checksum does not match" "${options[@]}" --out parts --resume
head -c 1000 good >parts/checkpoint
complains "truncated" "${options[@]}" --out parts --resume
echo "something else" >parts/checkpoint
complains "cannot resume from parts/checkpoint" "${options[@]}" --out parts --resume
cmp whole/metrics.csv parts/metrics.csv || fail "a refused run changed the results"
