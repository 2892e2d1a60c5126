// expect: "these words"
#if !defined(PREFER_CONTROL)
static_assert(sizeof(char) == 2, "other words");
#endif
