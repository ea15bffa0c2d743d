package domain

// PostReading records a posted value that was read with [ReadValue].
type PostReading struct{ Reading ReadingPosted }

// Decide always records: two posts of one value are two readings.
func (c PostReading) Decide(State) (Event, error) { return c.Reading, nil }
