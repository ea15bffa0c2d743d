package server

// mostDescriptors is a number that is large enough: Windows limits handles only by memory.
func mostDescriptors() (int, error) { return 1 << 20, nil }
