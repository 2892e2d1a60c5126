// expect: "these words"
static_assert(sizeof(char) == 2, "these words");  // PREFER_CONTROL has no effect
