// Package faults makes the messages of answers and, for programs, the path, value and cure of each fault of a request.
package faults

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"ledge/domain"
	"ledge/handlers/jsonform"
)

// Fault is one thing that is wrong with a request. It says what the message says, for programs.
type Fault struct {
	// Path is the place in the request, such as [0].device.name; empty where it is the request as a whole.
	Path string `json:"path"`
	// Value is what is there, cut where it is long; empty where nothing is there, and where the message does not show it.
	Value string `json:"value"`
	Cure  string `json:"cure"`
}

// mostCure bounds a cure in bytes, mostFaults the faults of one answer.
const (
	mostCure   = 512
	mostFaults = 20
)

var (
	faultPath  = regexp.MustCompile(`^((?:\[\d+\]\.)?[A-Za-z_][\w.\[\]-]*|\[\d+\]): `)
	faultValue = regexp.MustCompile(`^(-?\d[\w.+-]*) `)
	queryFault = regexp.MustCompile(`querystring (\w+)'s value ("(?:[^"\\]|\\.)*"|\S+)`) // EdgeX's words
)

// Of returns what is wrong with a request that is refused because of err; nil where the request is not at fault. It is taken from the
// message: what is remembered of a refusal for an Idempotency-Key is its message, and the answer is the same.
func Of(err error) []Fault {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != domain.Invalid {
		return nil
	}
	message := Shorten(e.Message)
	if m := queryFault.FindStringSubmatch(message); m != nil {
		value, err := strconv.Unquote(m[2])
		if err != nil {
			value = m[2]
		}
		return []Fault{{Path: m[1], Value: jsonform.Shorten(value, 80), Cure: jsonform.Shorten(message, mostCure)}}
	}
	var faults []Fault
	for _, part := range clauses(message) {
		if path := faultPath.FindStringSubmatch(part); path != nil || len(faults) == 0 {
			if len(faults) == mostFaults {
				break
			}
			f := Fault{Cure: part}
			if path != nil {
				f.Path, f.Cure = path[1], part[len(path[0]):]
			}
			f.Value = valueIn(f.Cure)
			faults = append(faults, f)
			continue
		}
		addCure(&faults[len(faults)-1], part)
	}
	for i := range faults {
		faults[i].Cure = jsonform.Shorten(strings.TrimPrefix(faults[i].Cure, cureMark), mostCure)
	}
	return faults
}

// cureMark begins a cure that stands behind a semicolon. Until there is one, the cure is the whole text.
const cureMark = "\x00"

func addCure(f *Fault, part string) {
	if strings.HasPrefix(f.Cure, cureMark) {
		f.Cure += "; " + part
	} else {
		f.Cure = cureMark + part
	}
}

// clauses parts a message at its semicolons, but not in what it quotes.
func clauses(message string) (parts []string) {
	from, quoted := 0, false
	for i := 0; i < len(message); i++ {
		switch {
		case quoted && message[i] == '\\':
			i++
		case !quoted && strings.HasPrefix(message[i:], `'"'`): // a character
			i += len(`'"`)
		case message[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(message[i:], "; "):
			parts = append(parts, message[from:i])
			from = i + len("; ")
		}
	}
	return append(parts, message[from:])
}

// valueIn returns the value with which a text begins, if it does.
func valueIn(text string) string {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		value, _ := strconv.Unquote(quoted)
		if strings.HasPrefix(text[len(quoted):], "…") {
			value += "…"
		}
		return value
	}
	if m := faultValue.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// mostMessage bounds a message in an answer, in bytes: what it quotes may be long.
const mostMessage = 4 << 10

// Shorten returns a message as an answer has it.
func Shorten(message string) string {
	if len(message) <= mostMessage {
		return message
	}
	return strings.ToValidUTF8(message[:mostMessage], "") + "…"
}
