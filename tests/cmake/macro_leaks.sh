#!/bin/sh
# Fails when a header below a folder leaves a macro defined whose name does not start with PREFER_,
# or undefines a macro that is not its own.
#   macro_leaks.sh FOLDER COMPILER [ARGUMENTS…] SOURCE
set -eu
folder=$1
shift
expanded=$(mktemp)
trap 'rm -f "$expanded"' EXIT
# -dD keeps the definitions, each after a marker  # LINE "FILE"  of where it stands.
"$@" -E -dD >"$expanded"
awk -v folder="$folder" '
    /^# [0-9]+ "/ {
        file = $0
        sub(/^# [0-9]+ "/, "", file)
        sub(/".*$/, "", file)
        ours = index(file, folder) == 1
        if (ours) seen[file] = 1
        next
    }
    /^#define / {
        name = $2
        sub(/\(.*$/, "", name)
        if (ours) defined[name] = file
        else delete defined[name]
    }
    /^#undef / {
        if (ours && !($2 in defined) && $2 !~ /^PREFER_/) {
            print file ": undefines " $2 ", which it did not define"
            failed = 1
        }
        delete defined[$2]
    }
    END {
        for (name in defined) {
            if (name !~ /^PREFER_/) {
                print defined[name] ": leaves the macro " name " defined"
                failed = 1
            }
        }
        for (file in seen) ++count
        if (count == 0) {
            print "no header of " folder " was seen"
            failed = 1
        }
        if (!failed) print count " headers leave no macro behind"
        exit failed
    }' "$expanded"
