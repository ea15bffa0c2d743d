package store

import (
	"bytes"
	"strings"
)

// storedToken ends the subject under which every event of a stream is stored: the server keeps an index entry in memory for each
// subject of a stream, for good, and nothing asks for it. What an event is about stands in ce-subject. Events of earlier versions are stored
// under their public subjects, which have two tokens or more after the stream's.
const storedToken = "entry"

// publicSubject is the subject under which taps and users see an event that is stored under a subject and is about something.
func publicSubject(stored, about string) string {
	stream, ok := strings.CutSuffix(stored, storedToken)
	if !ok || strings.Count(stream, ".") != 2 || about == "" {
		return stored
	}
	return stream + strings.ReplaceAll(about, "/", ".")
}

// aboutIn is the ce-subject in a block of headers.
func aboutIn(headers []byte) string {
	_, rest, _ := bytes.Cut(headers, []byte("\r\n"+headerSubject+": "))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value)
}
