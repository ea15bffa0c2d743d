package projections

import "bytes"

// largeRow is from where on an entity is large, in bytes: what it takes while it is in work matters.
const largeRow = 16 << 10

// A large entity in work is there as its row is decoded and as text, which grows while it is written. Each entry of its lists and objects
// takes so many bytes beside that.
const (
	copiesInWork = 3
	entryInWork  = 200
)

// inWork is what an entity of so many bytes takes while it is read and written as JSON.
func inWork(bytes, entries int) int {
	if bytes <= largeRow {
		return bytes
	}
	return copiesInWork*bytes + entryInWork*entries
}

// rowInWork is inWork of a row. Each entry but the first of a list or an object comes after a comma; others may be in texts.
func rowInWork(row []byte) int {
	if len(row) <= largeRow {
		return len(row)
	}
	return inWork(len(row), bytes.Count(row, []byte(",")))
}
