package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// AddJSONFlag gives a command that prints one object the flag --json. docs/reference/operating.md has the fields.
func AddJSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print a JSON object; an error is one on standard error")
}

// PrintObject prints a value as JSON.
func PrintObject(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// printError prints an error, in the form that restic has for it if the command prints JSON.
func printError(w io.Writer, c *cobra.Command, err error, code int) {
	if flag := c.Flags().Lookup("json"); flag == nil || flag.Value.String() != "true" {
		fmt.Fprintf(w, "ledge: %v\n", err)
		return
	}
	_ = json.NewEncoder(w).Encode(struct {
		Type    string `json:"message_type"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{"exit_error", code, err.Error()}) // there is no other place to say what fails
}

// PrintList prints a list, [] for an empty one.
func PrintList[T any](w io.Writer, list []T) error {
	return PrintObject(w, append([]T{}, list...))
}
