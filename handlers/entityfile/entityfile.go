// Package entityfile reads files of entities as people have them, and plans an import of devices. The console and the commands of
// package everyday read with it, so that a file has the same entities and the same errors for both.
//
// A text is YAML, JSON, TOML or CSV. YAML, JSON and TOML have a list of entities, a list of requests as for the API, an object with a list
// as an answer of the API or a file of EdgeX' device services (deviceList) has it, or one entity. CSV has a header row with the names of
// fields:
//
//	name,profileName,labels,protocols.modbus-tcp.Address
//	meter-1,power-meter,"hall, ground floor",10.0.0.7
//
// A number, a date or a boolean without quotes that stands for a text is kept as it is written: 0012 stays 0012.
package entityfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ledge/domain"
	"ledge/handlers/jsonform"
	v2 "ledge/handlers/shapes/v2"
	"ledge/handlers/yamldoc"
)

// Kind is a kind of entity in files.
type Kind struct {
	// About is the name in messages, such as device profile.
	About string
	// Key is the name of an entity in a request, List the name of a list in an answer.
	Key, List string
	// Shape is the struct of an entity in requests. It has a field Name.
	Shape reflect.Type
}

// Devices is the kind of devices.
var Devices = Kind{About: "device", Key: "device", List: "devices", Shape: reflect.TypeFor[v2.Device]()}

// Entity is one entity of a file.
type Entity struct {
	Position int    // from 1
	Name     string // empty if it cannot be read
	// JSON has the fields in the text, in the form of the API of EdgeX 2.3, without OwnFields.
	JSON json.RawMessage
	// Ignored names the unknown keys in the text; empty for none.
	Ignored string
	// Err is the fault of this entity; its JSON is empty then.
	Err error

	csv bool // a row of CSV, in which a device may have no protocols
}

// OwnFields are the fields that Ledge sets. An entity of a file is found by its name.
var OwnFields = []string{"id", "created", "modified", "lastConnected", "lastReported"}

// Hold takes memory for a text, in bytes. It is held until the entities are not used any more. Read returns its error as it is.
type Hold func(bytes int64) error

// Read returns the entities in a text, at most most of them. A fault of one entity is in its Err. A fault of the whole text, or one of its
// limits, is an error that names the line, if the format has one, and the cure. Before a library reads the text, Read asks hold for the
// most memory that the library can take for it.
func Read(text []byte, k Kind, most int, hold Hold) (list []Entity, err error) {
	all, csv, err := k.parse(bytes.TrimPrefix(text, []byte("\ufeff")), hold)
	if err != nil {
		return nil, err
	}
	values := k.listOf(all)
	if len(values) == 0 {
		return nil, domain.Errorf(domain.Invalid, "There is no %s in the text. Give a list of %[1]ss.", k.About)
	}
	if len(values) > most {
		return nil, domain.Errorf(domain.Invalid, "There are %d %ss in the text; import at most %d at a time.", len(values), k.About, most)
	}
	positions := map[string]int{} // by name
	for i, value := range values {
		if request, ok := value.(map[string]any); ok {
			if entity := member(request, k.Key); entity != nil {
				value = entity
			}
		}
		if err := k.checkBounds(value, i+1, hold); err != nil {
			return nil, err
		}
		e := k.decode(fitValue(value, k.Shape))
		if len(e.JSON) > maxEntity {
			return nil, domain.Errorf(domain.TooLarge, "The %s %d is longer than %d bytes. Make it shorter.", k.About, i+1, maxEntity)
		}
		e.Position, e.csv = i+1, csv
		if first := positions[e.Name]; first > 0 && e.Err == nil {
			e.JSON, e.Err = nil, domain.Errorf(domain.Invalid, "%s %d has the same name; leave one out", k.About, first)
		} else if first == 0 && e.Name != "" {
			positions[e.Name] = e.Position
		}
		list = append(list, e)
	}
	return list, nil
}

// checkBounds refuses a value that is too deep or too wide, and holds the memory of its JSON.
func (k Kind) checkBounds(value any, position int, hold Hold) error {
	switch deep, wide := isBeyond(value, maxDepth); {
	case deep:
		const says = "The %s %d has lists and objects more than %d deep in each other. Make it flatter."
		return domain.Errorf(domain.Invalid, says, k.About, position, maxDepth)
	case wide:
		const says = "The %s %d has an object with more than %d keys. Give it fewer."
		return domain.Errorf(domain.Invalid, says, k.About, position, yamldoc.MaxKeys)
	}
	return hold(entityTimes * lengthOf(value))
}

// decode returns the entity of a value that [fitValue] has returned. If it is too long, its JSON is too.
func (k Kind) decode(value any) (e Entity) {
	object, ok := value.(map[string]any)
	if !ok {
		e.Err = domain.Errorf(domain.Invalid, "it is something else than %ss; write fields such as name: NAME, or a list of them", k.About)
		return e
	}
	text, err := json.Marshal(object)
	if err != nil || len(text) > maxEntity {
		return Entity{JSON: text, Err: err}
	}
	v := reflect.New(k.Shape)
	e.Err = jsonform.DecodeInto(text, jsonform.Format{Name: jsonform.JSON.Name, Root: k.Key, Unmarshal: json.Unmarshal}, v.Interface())
	if e.Name = v.Elem().FieldByName("Name").String(); e.Err == nil && e.Name == "" {
		e.Err = domain.FieldErrorf("name", "is missing or empty; give a name")
	}
	if e.Err != nil {
		return e
	}
	unknown := jsonform.FindUnknown(text, "", k.Shape)
	e.Ignored = unknown.Message()
	fields := map[string]any{}
	for i := range k.Shape.NumField() {
		name := nameOf(k.Shape.Field(i))
		if member(object, name) != nil && !slices.Contains(OwnFields, name) {
			fields[name] = v.Elem().Field(i).Interface()
		}
	}
	e.JSON, e.Err = json.Marshal(fields)
	return e
}

// parse returns a text as maps, lists, texts, nil and literals, and whether it is CSV.
func (k Kind) parse(text []byte, hold Hold) (all any, csv bool, err error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') && json.Valid(trimmed):
		all, err = parseJSON(trimmed, hold)
	case isTOML(text):
		all, err = parseTOML(text, hold)
	case isCSV(text):
		all, err = parseCSV(text, hold)
		return all, true, err
	default:
		all, err = k.parseOther(text, hold)
	}
	return all, false, err
}

// parseOther parses YAML, which is any text that has no other format.
func (k Kind) parseOther(text []byte, hold Hold) (any, error) {
	expanded := int64(len(text))
	if k.Shape != Devices.Shape { // profiles repeat more by aliases than they are long
		expanded = max(expanded, leastExpanded)
	}
	all, err := parseYAML(text, expanded, hold)
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

// listOf finds the list of entities.
func (k Kind) listOf(all any) []any {
	switch v := all.(type) {
	case []any:
		return v
	case map[string]any:
		for _, key := range []string{k.List, k.Key + "List"} {
			if list, ok := member(v, key).([]any); ok {
				return list
			}
		}
		return []any{all}
	}
	return nil
}

// member returns the value of an object under a key in any case.
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

func parseJSON(text []byte, hold Hold) (all any, err error) {
	if err := hold(jsonEntry * int64(jsonform.CountEntries(text))); err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&all); err != nil {
		return nil, domain.Errorf(domain.Invalid, "The text is not JSON: %v", err)
	}
	return all, nil
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
