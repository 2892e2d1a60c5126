# What the scripts beside this file share. Each is called with the program and a scratch folder.
set -euo pipefail

align=$1
scratch=$2
data=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/data
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# A model and a run so small that they take no time.
tiny=(--sft-steps 12 --steps 12 --batch 4 --hidden 8 --embedding 4 --quiet)

# succeeds ARGUMENT…: a run that must work; its output is in ./output.
succeeds() {
    "$align" "$@" >output 2>errors || fail "align $*: exit status $?: $(cat errors)"
    [[ ! -s errors ]] || fail "align $* complained: $(cat errors)"
}

# complains WORDS ARGUMENT…: a run that must end with one line on the standard error that contains
# WORDS, and a non-zero exit status that is not a crash.
complains() {
    local words=$1 status=0
    shift
    "$align" "$@" >output 2>errors || status=$?
    [[ $status -eq 1 || $status -eq 2 ]] || fail "align $*: exit status $status: $(cat errors)"
    one_line "$words" "align $*"
}

# one_line WORDS RUN: that ./errors is one line with WORDS.
one_line() {
    [[ $(wc -l <errors) -eq 1 ]] || fail "$2: not one line but: $(cat errors)"
    [[ $(<errors) == "align: "* ]] || fail "$2: $(cat errors)"
    grep -qF -- "$1" errors || fail "$2: '$1' is not in: $(cat errors)"
}

# says WORDS: that the last output contains WORDS.
says() {
    grep -qF -- "$1" output || fail "'$1' is not in the output: $(cat output)"
}

# number LABEL: the first number behind a label of report.txt in a folder.
number() {
    sed -n "s/^ *$2  *\([-+0-9.e]*\).*/\1/p" "$1/report.txt"
}

# holds EXPRESSION: an inequality between numbers.
holds() {
    awk "BEGIN { exit !($1) }" || fail "not so: $1"
}
