package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"ledge/cmd/internal/datadir"
	"ledge/domain"
)

// WithRetention returns a configuration whose settings of retention have other values, by their names. Settings without a value are as in
// c, and all other settings have their defaults. The error is a domain Error that names the settings whose values are wrong.
func WithRetention(c *Config, values map[string]string) (*Config, error) {
	again := Default()
	var p domain.Problems
	names := domain.RetentionSettings()
	for _, name := range names {
		value := cmp.Or(values[name], c.declared.Lookup(name).Value.String())
		if err := set(again.declared.Lookup(name), value); err != nil {
			p.Add(name, "%.80q: %v", value, err)
		}
	}
	for _, one := range again.checks {
		if cure := one.cure(); cure != "" && slices.Contains(names, one.name) {
			p.Add(one.name, "%.80q: %s", again.declared.Lookup(one.name).Value.String(), cure)
		}
	}
	return again, p.Err()
}

// retentionHead begins the file of the values that administrators have set.
const retentionHead = `# Limits that an administrator has set in the console. They replace the settings of the same names.
# The log of changes is the truth: Ledge writes this file from it, at each change and at each start. Do not edit it.
`

// RetentionFile returns the text of the file with the values that replace settings of retention.
func RetentionFile(values map[string]string) []byte {
	text := retentionHead
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s: %q\n", name, values[name])
	}
	return []byte(text)
}

// TakeRetentionFile takes the values of administrators over, as far as the file in the data folder has them. A running server takes them
// from its log. source gets the path of the file as their source. A value that a server would not take stays out.
func TakeRetentionFile(c *Config, source map[string]string) {
	path := filepath.Join(c.DataDir, datadir.RetentionFile)
	values, _ := readFile(path) // there may be none
	c.declared.VisitAll(func(f *pflag.Flag) {
		value, ok := values[f.Name]
		if !ok || !slices.Contains(domain.RetentionSettings(), f.Name) {
			return
		}
		if _, err := WithRetention(c, map[string]string{f.Name: value}); err == nil {
			_ = f.Value.Set(value) // it is checked
			source[f.Name] = path
		}
	})
}
