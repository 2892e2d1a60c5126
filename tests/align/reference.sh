#!/usr/bin/env bash
# The reference that follows the policy: it changes the run, is part of the checkpoint, and a run
# that is interrupted ends with the same bits.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

options=(--sft-steps 60 --steps 90 --batch 16 --hidden 16 --threads 2)
for rule in frozen soft:0.6 hard:32 soft:0; do
    succeeds "${options[@]}" --reference "$rule" --out "whole-$rule"
done
# With rate 0 the reference stays, and only its log-probs are computed anew: the loss of a frozen
# one, to rounding.
paste -d, whole-frozen/metrics.csv whole-soft:0/metrics.csv | awk -F, '
    NR == 1 { columns = NF / 2; for (i = 1; i <= columns; i++) if ($i == "loss") loss = i }
    NR > 1 { off = $loss - $(loss + columns); if (off > 1e-3 || off < -1e-3) exit 1 }
    END { if (!loss) exit 1 }' || fail "soft:0 is not frozen"
# Until the first copy hard:32 is that too, to the bit: a header, 60 lines of fine-tuning, 31 of
# alignment (the line of step 32 has held-out figures with the copied reference).
cmp <(head -n 92 whole-soft:0/metrics.csv) <(head -n 92 whole-hard:32/metrics.csv) ||
    fail "hard:32 differs before step 32"
cmp -s <(head -n 94 whole-soft:0/metrics.csv) <(head -n 94 whole-hard:32/metrics.csv) &&
    fail "hard:32 is the same in step 33"
cmp -s <(head -n 62 whole-soft:0/metrics.csv) <(head -n 62 whole-soft:0.6/metrics.csv) ||
    fail "soft:0.6 differs in the first step"
cmp -s <(head -n 63 whole-soft:0/metrics.csv) <(head -n 63 whole-soft:0.6/metrics.csv) &&
    fail "soft:0.6 is the same in the second step"

for rule in soft:0.6 hard:32; do
    "$align" "${options[@]}" --reference "$rule" --out "parts-$rule" --save-every 5 >output 2>&1 &
    process=$!
    for _ in {1..400}; do
        [[ ! -e parts-$rule/metrics.csv || $(wc -l <"parts-$rule/metrics.csv") -lt 80 ]] || break
        kill -0 $process 2>/dev/null || break
        sleep 0.01
    done
    kill -9 $process 2>/dev/null || true
    wait $process 2>/dev/null || true
    succeeds "${options[@]}" --reference "$rule" --out "parts-$rule" --save-every 5 --resume
    says "Resumed after 60 steps"
    cmp "whole-$rule/metrics.csv" "parts-$rule/metrics.csv" || fail "$rule: differs after a kill"
done
complains "--reference was hard:32 there and is frozen now" "${options[@]}" --out parts-hard:32 \
    --resume

complains "this is not frozen, soft:ALPHA or hard:STEPS" --reference ema
complains "this is not frozen, soft:ALPHA or hard:STEPS" --reference soft
complains "x is not a number" --reference soft:x
complains "alpha is 1.5, but must be in [0, 1]" --reference soft:1.5
complains "every is 0, but must be at least 1" --reference hard:0
