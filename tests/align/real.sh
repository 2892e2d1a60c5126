#!/usr/bin/env bash
# Real human preferences, where they are at hand: a short fine-tuning already beats the unigram model
# on responses to prompts that it has never seen.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

folder=${PREFER_DATA_DIR:-${3:-}}
if [[ ! -r $folder/pandalm.jsonl ]]; then
    echo "skipped: PREFER_DATA_DIR has no pandalm.jsonl"
    exit 77
fi
gzip -c "$folder/pandalm.jsonl" >pairs.jsonl.gz
succeeds --data pairs.jsonl.gz --sft-steps 100 --sft-lr 3e-3 --steps 2 --batch 12 --window 8 \
    --embedding 12 --hidden 48 --hold-out 0.05 --quiet --out out
says "842 lines, 842 preferences."
says "held out (with their prompts)"
cat out/report.txt
holds "$(number out "on held-out responses") < $(number out "unigram model, on held-out responses")"
[[ -n $(number out "accuracy on held-out pairs") ]] || fail "there is no held-out accuracy"
