// PREFER_CONTROL
static_assert(sizeof(char) == 2, "these words");
