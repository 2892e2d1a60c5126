// expect: "these words"
// The words are in the line with the error, but not in the error.
#if !defined(PREFER_CONTROL)
char const* result() {
    return undeclared + sizeof("these words");
}
#endif
