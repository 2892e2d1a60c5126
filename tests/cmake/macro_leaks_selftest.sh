#!/bin/sh
# Shows macro_leaks.sh headers with and without a leak.
#   macro_leaks_selftest.sh SCRIPT SCRATCH COMPILER
set -eu
script=$1
scratch=$2
compiler=$3

# expect OUTCOME NAME TEXT: a header with this text must pass (0) or fail (1).
expect() {
    folder=$scratch/$2
    mkdir -p "$folder/ours"
    printf '%b' "$3" >"$folder/ours/header.hpp"
    printf '#include <ours/header.hpp>\n' >"$folder/source.cpp"
    outcome=0
    "$script" "$folder/ours/" "$compiler" "-I$folder" "$folder/source.cpp" || outcome=1
    if [ "$outcome" != "$1" ]; then
        printf 'case %s: outcome %s, should be %s\n' "$2" "$outcome" "$1" >&2
        exit 1
    fi
}

expect 0 clean '#include <cmath>\n#define PREFER_A 1\n'
expect 0 removed '#define HELPER(x) x\n#undef HELPER\n'
expect 1 leak '#include <cmath>\n#define HELPER(x) x\n'
expect 1 leak_without_value '#define OURS_HEADER_HPP\n'
expect 1 indented_leak '#if 1\n#    define HELPER 1\n#endif\n'
expect 1 defined_again '#define HELPER\n#undef HELPER\n#define HELPER\n'
expect 1 foreign_undef '#include <cmath>\n#undef NAN\n'
