package everyday

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/exit"
	"ledge/handlers/csvtext"
)

const (
	tableOutput = "table"
	yamlOutput  = "yaml"
	jsonOutput  = "json"
	csvOutput   = "csv"
)

// addOutput gives a command its flag for the form of the output.
func addOutput(c *cobra.Command, usual string) *string {
	return c.Flags().StringP("output", "o", usual, "table, json, yaml or csv")
}

// printer prints entities: one if single, else a list.
type printer struct {
	w       io.Writer
	form    string
	columns []string
	single  bool
	count   int
	table   *tabwriter.Writer
}

func newPrinter(w io.Writer, form string, columns []string) (*printer, error) {
	p := &printer{w: w, form: form, columns: columns}
	switch form {
	case tableOutput:
		var heads []string
		for _, c := range columns {
			heads = append(heads, strings.ToUpper(c))
		}
		p.table = cli.NewTable(w, heads...)
	case csvOutput:
		return p, p.writeCSV(columns)
	case jsonOutput, yamlOutput:
	default:
		return nil, exit.With(exit.Usage, fmt.Errorf("--output: %q is unknown; use table, json, yaml or csv", form))
	}
	return p, nil
}

// print prints one entity.
func (p *printer) print(fields map[string]any) error {
	p.count++
	switch p.form {
	case jsonOutput:
		return p.printJSON(fields)
	case yamlOutput:
		var value any = []any{fields} // a part of the list
		if p.single {
			value = fields
		}
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = p.w.Write(text)
		}
		return err
	case csvOutput:
		return p.writeCSV(p.cells(fields))
	}
	cells := p.cells(fields)
	for i, text := range cells {
		cells[i] = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return '�'
		}, text)
	}
	_, err := fmt.Fprintln(p.table, strings.Join(cells, "\t"))
	return err
}

func (p *printer) writeCSV(cells []string) error {
	_, err := p.w.Write(csvtext.AppendRow(nil, cells...))
	return err
}

func (p *printer) printJSON(fields map[string]any) error {
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return err
	}
	before := ""
	switch {
	case p.single:
	case p.count == 1:
		before = "[\n"
	default:
		before = ",\n"
	}
	_, err = fmt.Fprint(p.w, before, string(text))
	return err
}

// cells are the values of the columns.
func (p *printer) cells(fields map[string]any) (cells []string) {
	for _, name := range p.columns {
		cells = append(cells, cellOf(fields[name]))
	}
	return cells
}

// cellOf is a value in a cell: a list with commas, an object as JSON.
func cellOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var parts []string
		for _, one := range v {
			parts = append(parts, cellOf(one))
		}
		return strings.Join(parts, ",")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// end completes the output.
func (p *printer) end() error {
	switch {
	case p.table != nil:
		return p.table.Flush()
	case p.form == jsonOutput && p.single:
		_, err := fmt.Fprintln(p.w)
		return err
	case p.count == 0 && (p.form == jsonOutput || p.form == yamlOutput):
		_, err := fmt.Fprintln(p.w, "[]")
		return err
	case p.form == jsonOutput:
		_, err := fmt.Fprintln(p.w, "\n]")
		return err
	}
	return nil
}
