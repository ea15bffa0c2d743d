package entityfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"ledge/domain"
	"ledge/handlers/yamldoc"
)

// columnSays is the fault of a column whose name is not a field.
const columnSays = "The column %.80q of the CSV cannot be read. Use names of fields, such as name, profileName or labels, " +
	"and names such as protocols.rest.host, which is the property host of the protocol rest."

// separators are what may separate the cells of CSV: spreadsheets write a semicolon if the comma is in their numbers.
const separators = ",;\t"

// header returns the first line and its separator: the one that is there most often.
func header(text []byte) (line []byte, separator rune) {
	first, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	separator = ','
	for _, c := range separators {
		if bytes.Count(first, []byte(string(c))) > bytes.Count(first, []byte(string(separator))) {
			separator = c
		}
	}
	return first, separator
}

// isCSV reports whether a text has a header row with the column name.
func isCSV(text []byte) bool {
	line, separator := header(text)
	for cell := range bytes.SplitSeq(line, []byte(string(separator))) {
		if bytes.EqualFold(bytes.Trim(cell, " \"\r"), []byte("name")) {
			return true
		}
	}
	return false
}

// parseCSV reads CSV with a header row. The column protocols.other.address is the property address of the protocol other. Labels are
// separated by commas or semicolons in their cell. An empty cell is a field that is not given.
func parseCSV(text []byte, hold Hold) (any, error) {
	_, separator := header(text)
	if err := hold(csvCell * int64(bytes.Count(text, []byte(string(separator))))); err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.Comma, in.TrimLeadingSpace, in.ReuseRecord = separator, separator != '\t', true
	names, err := in.Read()
	if err != nil {
		return nil, csvError(err)
	}
	if len(names) > yamldoc.MaxKeys {
		return nil, domain.Errorf(domain.Invalid, "The CSV has more than %d columns. Give it fewer.", yamldoc.MaxKeys)
	}
	columns := make([][]string, len(names))
	seen := map[string]bool{}
	for i, name := range names {
		name = strings.TrimSpace(name)
		if seen[strings.ToLower(name)] {
			return nil, domain.Errorf(domain.Invalid, "The header of the CSV has the column %.80q twice. Leave one out.", name)
		}
		seen[strings.ToLower(name)] = true
		if columns[i] = strings.SplitN(name, ".", 3); strings.EqualFold(columns[i][0], "protocols") != (len(columns[i]) == 3) {
			return nil, domain.Errorf(domain.Invalid, columnSays, name)
		}
		if one := strings.ToLower(name); one == "autoevents" || one == "location" {
			return nil, domain.Errorf(domain.Invalid, "The column %.80q cannot be given in CSV. Use YAML or JSON for it.", name)
		}
	}
	list := []any{}
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		if err := hold(deviceBytes(columns, cells)); err != nil {
			return nil, err
		}
		list = append(list, deviceOf(columns, cells))
	}
}

// deviceBytes is the memory that a device takes at most.
func deviceBytes(columns [][]string, cells []string) (n int64) {
	n = csvTable
	for i, cell := range cells {
		switch {
		case cell == "":
		case len(columns[i]) == 3:
			n += csvTable
		default:
			n += csvValue * int64(1+strings.Count(cell, ",")+strings.Count(cell, ";"))
		}
	}
	return n
}

func deviceOf(columns [][]string, cells []string) map[string]any {
	device := map[string]any{}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		path := columns[i]
		switch {
		case cell == "":
		case len(path) == 3:
			tableAt(device, path[:2])[path[2]] = cell
		case strings.EqualFold(path[0], "labels"):
			labels := []any{}
			for _, l := range strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ';' }) {
				labels = append(labels, strings.TrimSpace(l))
			}
			device[path[0]] = labels
		default:
			device[path[0]] = literal(cell)
		}
	}
	return device
}

func csvError(err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return domain.Errorf(domain.Invalid, "The text is not CSV: line %d: %v", e.Line, e.Err)
	}
	return domain.Errorf(domain.Invalid, "The text is not CSV: %v", err)
}
