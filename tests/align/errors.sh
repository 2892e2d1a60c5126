#!/usr/bin/env bash
# Bad options, folders that cannot be written, a full disk: one clear line, nothing lost.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

succeeds --help
says "--loss NAME"
succeeds --list-losses
says "simpo       beta=2 gamma=0.25 gamma_is=ratio|absolute label_smoothing=0"

complains "there is no loss best; there are dpo, robust-dpo, ipo" --loss best
complains "there is no loss hinge_norm" --loss hinge_norm
complains "beta is -1, but must be finite and positive" --beta -1
complains "beta is nan" --beta nan
complains "beta cannot be 'much': dpo has beta=0.1 label_smoothing=0" --beta much
complains "beta cannot be '': dpo has" --set beta=
complains "beta cannot be '0.1 '" --set "beta=0.1 "
complains "beta is given twice" --beta 0.1 --set beta=0.1
complains "beta is given twice" --set beta=0.2 --set beta=0.1
complains "label_smoothing is 0.5" --set label_smoothing=0.5
complains "the loss slic has no beta; it has margin=1 nll_weight=0.1" --loss slic --beta 0.1
complains "the loss ipo has no label_smoothing" --loss ipo --set label_smoothing=0.1
complains "the loss dpo has no gamma" --set gamma=1
complains "nll_of cannot be 'both': slic has" --loss slic --set nll_of=both
complains "--set beta: this is not NAME=VALUE" --set beta
complains "--set =1: this is not NAME=VALUE" --set =1
complains "surplus" --set beta=0.2 surplus
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
