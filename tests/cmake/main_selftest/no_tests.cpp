// A test program without tests, which must fail.
