package config

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ledge/domain"
	"ledge/handlers/yamldoc"
)

//go:embed units.yaml
var builtInUnits []byte

const maxUnitsFile = 1 << 20 // bytes

// ReadUnits returns the units of measure of the file at path: TOML as of EdgeX 2.3 or YAML as of EdgeX 3, with the same
// keys, whose case does not matter. Without a path it returns those that are built in.
func ReadUnits(path string) (domain.UnitsOfMeasure, error) {
	if path == "" {
		return parseUnits(".yaml", builtInUnits)
	}
	text, err := ReadFile(path, maxUnitsFile)
	if err != nil {
		return domain.UnitsOfMeasure{}, fmt.Errorf("setting units-file: %w", err)
	}
	units, err := parseUnits(filepath.Ext(path), text)
	if err != nil {
		return units, fmt.Errorf("setting units-file: %s: %w", path, err)
	}
	return units, nil
}

// ReadFile reads a file of at most limit bytes that a setting names. The error names the file if it is longer.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes; make it shorter", path, limit)
	}
	return text, err
}

func parseUnits(extension string, text []byte) (units domain.UnitsOfMeasure, err error) {
	var document any
	switch strings.ToLower(extension) {
	case ".toml":
		err = toml.Unmarshal(text, &document)
	case ".yaml", ".yml":
		err = yamldoc.Unmarshal(text, &document)
	default:
		return units, fmt.Errorf("is neither TOML nor YAML by its name; let that end in .toml or .yaml")
	}
	if err != nil {
		return units, oneLine(err)
	}
	if err := convert(document, &units); err != nil {
		return units, err
	}
	return units, checkUnits(units)
}

// oneLine names the place in a TOML file, and takes the line ends out of what the YAML library says.
func oneLine(err error) error {
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := e.Position()
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// convert fills units by way of JSON, which takes keys in any case and refuses those that mean nothing.
func convert(document any, units *domain.UnitsOfMeasure) error {
	text, err := json.Marshal(document)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(units)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("found a value of type %s at %s", e.Value, cmp.Or(e.Field, "the top"))
	}
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); ok { // YAML alone has such keys
		err = errors.New("found a key that is not text")
	}
	if err != nil {
		return fmt.Errorf("%s; give a text Source and Units, and in Units for each quantity a text Source and a list of texts Values", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// checkUnits holds that there are units: an empty file is a mistake.
func checkUnits(units domain.UnitsOfMeasure) error {
	if len(units.Units) == 0 {
		return errors.New("has no Units; give at least one quantity, such as temperature with Values C and F")
	}
	for _, name := range slices.Sorted(maps.Keys(units.Units)) {
		if values := units.Units[name].Values; len(values) == 0 || slices.Contains(values, "") {
			return fmt.Errorf("Units.%s.Values has no values or an empty one; give units such as C and F", name)
		}
	}
	return nil
}
