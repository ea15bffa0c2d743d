// Package deviceimport reads lists of devices as people have them, and plans what an import of them does.
//
// A list is JSON, YAML, TOML or CSV. JSON, YAML and TOML have a list of devices, a list of requests as for the API, an object with the list
// under devices or deviceList, as the files of EdgeX' device services, or one device. CSV has a header row with the names of fields:
//
//	name,profileName,labels,protocols.modbus-tcp.Address
//	meter-1,power-meter,"hall, ground floor",10.0.0.7
//
// A number, a date or a boolean without quotes that stands for a text is kept as it is written: 0012 stays 0012.
package deviceimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ledge/domain"
	"ledge/handlers/jsonform"
	"ledge/handlers/yamldoc"
)

// Results of an import for a device.
const (
	Added     = "added"
	Changed   = "changed"
	Unchanged = "unchanged"
	Refused   = "refused"
)

// Row is one device of an import.
type Row struct {
	Position   int // from 1
	Name, What string
	Says       string // the reason of a refusal, the changed fields, or the keys that are ignored
	// Device is the device, or its changes, in the form of the API of EdgeX 2.3.
	Device json.RawMessage
}

// Hold takes memory for a text, in bytes. It is held until the rows are not used any more. Read returns its error as it is.
type Hold func(bytes int64) error

// Read returns the devices in a text, at most most of them. An error names the line, if the format has one, and the cure. Before a library
// reads the text, Read asks hold for the most memory that the library can take for it.
func Read(text []byte, most int, hold Hold) ([]Row, error) {
	all, err := parse(bytes.TrimPrefix(text, []byte("\ufeff")), hold)
	if err != nil {
		return nil, err
	}
	list := listOf(all)
	if len(list) == 0 {
		return nil, domain.Errorf(domain.Invalid, "There is no device in the text. Give a list of devices.")
	}
	if len(list) > most {
		return nil, domain.Errorf(domain.Invalid, "There are %d devices in the text; import at most %d at a time.", len(list), most)
	}
	var rows []Row
	for i, one := range list {
		if request, ok := one.(map[string]any); ok {
			if device := member(request, "device"); device != nil {
				one = device
			}
		}
		if isDeeper(one, maxDepth) {
			return nil, domain.Errorf(domain.Invalid, "Device %d has lists and objects more than %d deep in each other. Make it flatter.", i+1, maxDepth)
		}
		if isWider(one) {
			return nil, domain.Errorf(domain.Invalid, "Device %d has an object with more than %d keys. Give it fewer.", i+1, yamldoc.MaxKeys)
		}
		if err := hold(deviceTimes * lengthOf(one)); err != nil {
			return nil, err
		}
		device, err := json.Marshal(typed(one, "", asField))
		if err != nil {
			return nil, domain.Errorf(domain.Invalid, "Device %d: %v", i+1, err)
		}
		if len(device) > maxDevice {
			return nil, domain.Errorf(domain.TooLarge, "Device %d is longer than %d bytes. Make it shorter.", i+1, maxDevice)
		}
		rows = append(rows, Row{Position: i + 1, Device: device})
	}
	return rows, nil
}

// parse returns a text as maps, lists, texts, nil and literals.
func parse(text []byte, hold Hold) (any, error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') && json.Valid(trimmed):
		return parseJSON(trimmed, hold)
	case isTOML(text):
		return parseTOML(text, hold)
	case isCSV(text):
		return parseCSV(text, hold)
	}
	all, err := parseYAML(text, hold)
	if second, ok := errors.AsType[*yamldoc.SecondError](err); ok {
		return nil, domain.Errorf(domain.Invalid, "The text is more than one document: %v.", second)
	}
	if _, ok := errors.AsType[*domain.Error](err); ok { // a limit
		return nil, err
	}
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "The text is not JSON, YAML, TOML or CSV: %s", yamldoc.Readable(err))
	}
	return all, nil
}

// listOf finds the list of devices.
func listOf(all any) []any {
	switch v := all.(type) {
	case []any:
		return v
	case map[string]any:
		for _, key := range []string{"devices", "deviceList"} {
			if list, ok := member(v, key).([]any); ok {
				return list
			}
		}
		return []any{v}
	}
	return nil
}

// member returns what an object has under a key in any case.
func member(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	for k, v := range object {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return nil
}

// literal is a value without quotes, as it is written: a number, a boolean, a date.
type literal string

// typedFields are the fields of a device that are no texts.
var typedFields = map[string]bool{
	"onchange": true, "notify": true, "created": true, "modified": true, "lastconnected": true, "lastreported": true,
}

// What a literal becomes.
const (
	asText  = iota
	asField // what the field of a device has, by its key
	asAny   // a JSON value, if it is one
)

// typed returns v, which an object has under key, with its literals as texts or JSON values.
func typed(v any, key string, as int) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = typed(v[i], key, as)
		}
	case map[string]any:
		for k := range v {
			within := as
			switch {
			case as == asField && strings.EqualFold(k, "protocols"):
				within = asText
			case as == asField && strings.EqualFold(k, "location"):
				within = asAny
			}
			v[k] = typed(v[k], k, within)
		}
	case literal:
		text := string(v)
		if lower := strings.ToLower(text); lower == "true" || lower == "false" {
			text = lower
		}
		if (as == asAny || as == asField && typedFields[strings.ToLower(key)]) && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
		return string(v)
	}
	return v
}

func parseJSON(text []byte, hold Hold) (all any, err error) {
	if err := hold(jsonEntry * int64(jsonform.CountEntries(text))); err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&all); err != nil {
		return nil, domain.Errorf(domain.Invalid, "The text is not JSON: %v", err)
	}
	return literals(all), nil
}

// literals returns what a JSON decoder made with its numbers and booleans as literals.
func literals(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = literals(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = literals(v[k])
		}
	case json.Number:
		return literal(v)
	case bool:
		return literal(fmt.Sprint(v))
	}
	return v
}

// tomlLine is a line that only TOML begins with: a table, or a key with its value.
var tomlLine = regexp.MustCompile(`^(\[\[?\s*[\w"'][^\]:{,]*\]\]?|[\w"'.-]+\s*=)`)

func isTOML(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return tomlLine.Match(line)
		}
	}
	return false
}
