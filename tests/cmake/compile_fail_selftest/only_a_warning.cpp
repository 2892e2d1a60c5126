// expect: "these words"
// The words are shown, PREFER_CONTROL or not, but by something that compiles.
#warning "these words"
