package fold

// mapSize is 0 because Windows makes the file as long as its mapping.
func mapSize(string) int { return 0 }
