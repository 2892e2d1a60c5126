#!/usr/bin/env bash
# Bad options, folders that cannot be written, a full disk: one clear line, nothing lost.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

succeeds --help
says "--loss NAME"

complains "--loss" --loss best
complains "beta is -1, but must be finite and positive" --beta -1
complains "beta is nan" --beta nan
complains "label_smoothing is 0.5" --smoothing 0.5
complains "--beta has no effect with --loss slic" --loss slic --beta 0.1
complains "--smoothing has no effect with --loss ipo" --loss ipo --smoothing 0.1
complains "--margin has no effect with --loss dpo" --margin 1
complains "--ipo-target has no effect with --loss hinge-norm" --loss hinge-norm --ipo-target half-beta
complains "--nll-of" --loss slic --nll-of both
complains "--max-length has no effect without --data" --max-length 100
complains "--skip-bad has no effect without --data" --skip-bad
complains "--steps" --steps many
complains "-1 is not a whole number" --steps -1
complains "-1 is not a whole number" --seed -1
complains "--steps" --steps
complains "--batch is 0" --batch 0
complains "--lr is inf" --lr inf
complains "--hold-out is 1" --hold-out 1
complains "--stride" --stride 2
complains "surplus" surplus

: >file
complains "cannot create the folder file/results" "${tiny[@]}" --out file/results
complains "cannot create the folder /dev/full/results" "${tiny[@]}" --out /dev/full/results
if [[ -d /proc/self ]]; then complains "/proc/" "${tiny[@]}" --out /proc/self; fi

# A disk that fills up: no file may grow beyond 1 KiB. What was there before stays as it was.
succeeds "${tiny[@]}" --out out
cp -r out before
status=0
(
    ulimit -f 1
    exec "$align" "${tiny[@]}" --out out --seed 2 --save-every 5 2>&1 >/dev/null
) | cat >errors || status=$?
[[ $status -eq 1 ]] || fail "exit status $status on a full disk"
one_line "cannot write out/checkpoint.part: File too large" "a run on a full disk"
diff -r before out || fail "a full disk lost something"

# A checkpoint is not overwritten for want of an option.
succeeds "${tiny[@]}" --out saved --save-every 5
cp -r saved before_saved
complains "saved has a checkpoint already" "${tiny[@]}" --out saved
diff -r before_saved saved || fail "a refused run changed something"

if [[ -w /dev/full ]]; then
    status=0
    "$align" "${tiny[@]}" --out out 2>errors >/dev/full || status=$?
    [[ $status -eq 1 ]] || fail "exit status $status where the report could not be printed"
    one_line "cannot write the report" "a run that prints to /dev/full"
fi
