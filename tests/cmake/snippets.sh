#!/bin/sh
# Every block of C++ in the documentation is a part of a compiled file: of the file that the line above
# the block names (<!-- snippet: examples/first_loss.cpp -->), otherwise of tests/unit/snippets_with_eigen.cpp.
# Blocks of one line are exempt. Indentation and comment markers do not count.
# Usage: snippets.sh <source folder>. Fails with the file and line of each block that is not found.
set -eu
cd "$1"

find README.md docs include examples -name '*.md' -o -name '*.hpp' -o -name '*.cuh' | sort |
    xargs awk '
function normal(line) {
    sub(/^[ \t]*(\/\/\/)?[ \t]*/, "", line)
    sub(/[ \t]+$/, "", line)
    return line
}
function text_of(path,    line, all, status) {
    if (path in texts) return texts[path]
    all = "\n"
    while ((status = (getline line < path)) > 0) {
        line = normal(line)
        if (line != "") all = all line "\n"
    }
    if (status < 0) {
        print "snippets: " FILENAME ": cannot read " path
        failures++
    }
    close(path)
    return texts[path] = all
}
FNR == 1 { inside = 0; target = "" }
/^[ \t]*(\/\/\/ )?<!-- snippet: .* -->/ {
    target = $0
    sub(/.*<!-- snippet: /, "", target)
    sub(/ -->.*/, "", target)
    next
}
/^[ \t]*(\/\/\/ )?```cpp/ { inside = 1; block = "\n"; lines = 0; start = FNR; next }
inside && /^[ \t]*(\/\/\/ )?```/ {
    inside = 0
    if (lines > 1) {
        checked++
        where = target == "" ? "tests/unit/snippets_with_eigen.cpp" : target
        if (index(text_of(where), block) == 0) {
            print "snippets: " FILENAME ":" start ": not found in " where ":" block
            failures++
        }
    }
    target = ""
    next
}
inside {
    line = normal($0)
    if (line != "") { block = block line "\n"; lines++ }
}
END {
    print "snippets: " checked " blocks checked, " failures + 0 " not found"
    if (checked == 0 || failures > 0) exit 1
}'
