#!/usr/bin/env bash
# Every input format, plain and gzip; what is wrong with a file is reported or refused.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

succeeds --data "$data/strings.jsonl" "${tiny[@]}" --hold-out 0.2 --out strings
says "7 lines, 5 preferences."
says "1 blank line."
says "1 empty response, kept."
says "1 preference left out: both responses are the same."
says "Training on 4 of them, 1 held out"

gzip -c "$data/strings.jsonl" >strings.jsonl.gz
succeeds --data strings.jsonl.gz "${tiny[@]}" --hold-out 0.2 --out gzip
cmp strings/metrics.csv gzip/metrics.csv || fail "gzip and plain give different results"

succeeds --data "$data/chat.jsonl" "${tiny[@]}" --out chat
says "3 lines, 3 preferences."
grep -qF 'user: Again.\n\nassistant: ' chat/samples.txt || fail "the chat prompt is not as it should be"
succeeds --data "$data/transcripts.jsonl" "${tiny[@]}" --out transcripts
says "3 lines, 3 preferences."
grep -qF 'prompt  \n\nHuman: Name a colour.\n\nAssistant:' transcripts/samples.txt ||
    fail "the transcript's prompt is not as it should be"

succeeds --data "$data/strings.jsonl" "${tiny[@]}" --max-length 17 --hold-out 0 --out short
says "bytes."
says "0 held out"

complains "malformed.jsonl:2: this is no JSON" --data "$data/malformed.jsonl" "${tiny[@]}" --out bad
[[ ! -e bad ]] || fail "a run that could not start left a folder"
succeeds --data "$data/malformed.jsonl" "${tiny[@]}" --skip-bad --out skipped
says "6 lines, 2 preferences."
says "4 malformed lines skipped:"
says 'malformed.jsonl:3: there is no "rejected"'
says 'malformed.jsonl:4: "rejected" is neither a text nor a list of messages'
says "and 1 more"

head -c 100 strings.jsonl.gz >truncated.gz
complains "truncated.gz: the gzip data is truncated" --data truncated.gz "${tiny[@]}"
head -c 60 strings.jsonl.gz >damaged.gz
printf 'XXXXXXXXXXXXXXXX' >>damaged.gz
tail -c +77 strings.jsonl.gz >>damaged.gz
complains "damaged.gz: the gzip data is damaged" --data damaged.gz "${tiny[@]}"
complains "No such file" --data missing.jsonl "${tiny[@]}"
complains "Is a directory" --data . "${tiny[@]}"
: >empty.jsonl
complains "has no preference to train on" --data empty.jsonl "${tiny[@]}"
