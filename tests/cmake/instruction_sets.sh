#!/bin/sh
# Usage: instruction_sets.sh NM OBJDUMP PROGRAM BASELINE_OBJECT OTHER_OBJECT…
# The others were built with more instructions and another name for the namespace. Fails unless
#   - they neither define nor use anything of the namespace `prefer`, which the baseline does;
#   - no code that they share with the baseline (std:: templates) has AVX in the program.
set -eu
nm=$1 objdump=$2 program=$3 baseline=$4
shift 4
names=$(mktemp) && shared=$(mktemp)
trap 'rm -f "$names" "$shared"' EXIT

ours='(^|[^A-Za-z0-9_])prefer::'
"$nm" -C "$baseline" >"$names"
if ! grep -qE "$ours" "$names"; then
    echo "isa: $baseline has no symbol of prefer::; this check would see nothing"
    exit 1
fi
for object in "$@"; do
    "$nm" -C "$object" >"$names"
    if grep -E "$ours" "$names"; then
        echo "isa: $object has these symbols of the baseline's namespace"
        exit 1
    fi
    if ! grep -qE '(^|[^A-Za-z0-9_])prefer_[a-z0-9]+::' "$names"; then
        echo "isa: $object has no symbol of a renamed namespace; this check would see nothing"
        exit 1
    fi
done

"$nm" --defined-only "$baseline" | awk 'NF == 3 && $2 ~ /[WVu]/ { print $3 }' | sort >"$names"
for object in "$@"; do
    "$nm" --defined-only "$object" | awk 'NF == 3 && $2 ~ /[WVu]/ { print $3 }'
done | sort -u | comm -12 "$names" - >"$shared"
count=$(wc -l <"$shared")
# A build that has AVX everywhere has it in the baseline too.
vector='^ *[0-9a-f]+:[[:space:]]+v[a-z0-9]+ '
if "$objdump" -d --no-show-raw-insn "$baseline" | grep -qE "$vector"; then
    echo "isa: the baseline has AVX itself; $count shared symbols not looked into"
    exit 0
fi
"$objdump" -d --no-show-raw-insn "$program" | awk -v list="$shared" '
    BEGIN { while ((getline name < list) > 0) shared[name] = 1 }
    /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); next }
    name in shared && $2 ~ /^v[a-z0-9]+$/ && $2 !~ /^verr|^verw|^vm/ { bad[name] = 1 }
    END {
        for (name in bad) { print "isa: AVX in " name ", which the baseline shares"; failed = 1 }
        exit failed
    }'
echo "isa: $count symbols shared with the baseline, none of them of the library or with AVX"
