package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ledge/domain"
)

// Files as EdgeX users have them: TOML of 2.3, YAML of 3.
const (
	unitsTOML = `Source="a book"
[Units]
  [Units.temperature]
  Source="a thermometer"
  Values=["C", "F"]
  [Units."air flow"]
  Values=["m³/h"]
`
	unitsYAML = `Source: a book
Units:
  temperature:
    Source: a thermometer
    Values:
      - C
      - F
  air flow: {Values: [m³/h]}
`
)

func TestReadUnits(t *testing.T) {
	want := domain.UnitsOfMeasure{Source: "a book", Units: map[string]domain.QuantityUnits{
		"temperature": {Source: "a thermometer", Values: []string{"C", "F"}}, "air flow": {Values: []string{"m³/h"}},
	}}
	for name, text := range map[string]string{
		"uom.toml": unitsTOML, "uom.yaml": unitsYAML, "uom.yml": unitsYAML, "UOM.YAML": unitsYAML,
		"lower.toml": strings.NewReplacer("Source", "source", "[Units", "[units", "Values", "values").Replace(unitsTOML),
		"lower.yaml": strings.NewReplacer("Source", "source", "Units", "units", "Values", "values").Replace(unitsYAML),
	} {
		got, err := ReadUnits(mustWriteFile(t, name, text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	got, err := ReadUnits("")
	if listed := got.Listed(); err != nil || got.Source == "" || !listed["C"] || !listed["kilos"] || listed["furlong"] {
		t.Errorf("built in: got %+v, %v", got, err)
	}
}

func TestReadBadUnits(t *testing.T) {
	for _, tt := range []struct{ name, file, text, says string }{
		{"broken TOML", "uom.toml", "Source='x'\n[Units.t]\nValues=[", "line 3, column "},
		{"broken YAML", "uom.yaml", "Source: x\n Units: y\n", "line 2: mapping values are not allowed"},
		{"a list", "uom.yaml", "- C\n- F\n", "found a value of type array at the top; give a text Source"},
		{"another kind of file", "uom.json", "{}", "end in .toml or .yaml"},
		{"no kind", "uom", unitsYAML, "end in .toml or .yaml"},
		{"two documents", "uom.yaml", unitsYAML + "---\nSource: other\n", "a second document begins"},
		{"empty", "uom.yaml", "", "has no Units; give at least one quantity"},
		{"no units", "uom.toml", "Source='x'\n[Units]\n", "has no Units"},
		{"unknown key", "uom.yaml", "Source: x\nUnit: {t: {Values: [C]}}", `unknown field "Unit"; give a text Source and Units`},
		{"layout before EdgeX 2.3", "uom.toml", "[Uom]\nSource='x'\n", `unknown field "Uom"`},
		{"units in one text", "uom.toml", "[Units.t]\nValues='C,F'", "found a value of type string at Units.Values; give"},
		{"a number for a unit", "uom.yaml", "Units: {t: {Values: [5]}}", "found a value of type number at Units.Values"},
		{"a number for a quantity", "uom.yaml", "Units: {5: {Values: [C]}}", "found a key that is not text; give"},
		{"no values", "uom.yaml", "Units: {t: {Source: x}}", "Units.t.Values has no values or an empty one"},
		{"an empty value", "uom.yaml", "Units: {t: {Values: [C, ~]}}", "Units.t.Values has no values or an empty one"},
		{"too long", "uom.yaml", strings.Repeat("#", maxUnitsFile+1), "is longer than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := mustWriteFile(t, tt.file, tt.text)
			_, err := ReadUnits(path)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "setting units-file: "+path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant one line with %s", err, tt.says)
			}
		})
	}
}

func mustWriteFile(tb testing.TB, name, text string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
