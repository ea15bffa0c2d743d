package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/secure"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print every setting with its meaning and its default, as a YAML file",
		Long: `Print every setting with its meaning and its default, as a YAML file that --config takes back. It
sets what was set, with where that comes from; the other settings are comments with the value in
force. See docs/reference/operating.md#settings.`,
		Example: `  ledge config > ledge.yaml
  ledge config --changed --config /etc/ledge/ledge.yaml`,
	}
	changed := c.Flags().Bool("changed", false, "only the settings whose value is not the default, with where it comes from")
	asJSON := cli.AddJSONFlag(c)
	cli.AddSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, source map[string]string) error {
		config.TakeRetentionFile(cfg, source)
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), map[string]any{"settings": listSettings(cfg, source, *changed)})
		}
		if *changed {
			printChanged(c.OutOrStdout(), cfg, source)
			return nil
		}
		printSettings(c.OutOrStdout(), cfg, source)
		return nil
	})
	c.AddCommand(newConfigCheck())
	return c
}

// setting is a setting as --json has it.
type setting struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
	Default  string `json:"default"`
	Source   string `json:"source"`
	About    string `json:"about"`
}

// listSettings returns the settings: all, or the ones that have not their defaults.
func listSettings(cfg *config.Config, source map[string]string, changed bool) (all []setting) {
	for _, group := range cfg.Groups {
		group.Flags.VisitAll(func(f *pflag.Flag) {
			if value := f.Value.String(); !changed || value != f.DefValue {
				all = append(all, setting{f.Name, config.EnvName(f.Name), value, f.DefValue, source[f.Name], f.Usage})
			}
		})
	}
	return all
}

// printSettings prints all settings as a file. Settings that nobody has set are comments.
func printSettings(w io.Writer, cfg *config.Config, source map[string]string) {
	fmt.Fprintln(w, "# Settings of ledge: each as flag --name, as environment variable, or as a line of this file.")
	fmt.Fprintln(w, "# A line with a # before the name sets nothing, and shows the value in force.")
	for _, group := range cfg.Groups {
		fmt.Fprintf(w, "\n## %s\n", group.Title)
		group.Flags.VisitAll(func(f *pflag.Flag) {
			from, comment := "; set by "+source[f.Name], ""
			if config.IsUnset(source[f.Name]) {
				from, comment = "", "# "
			}
			fmt.Fprintf(w, "\n# %s\n# default %s; %s%s\n%s%s: %q\n",
				f.Usage, orNone(f.DefValue), config.EnvName(f.Name), from, comment, f.Name, f.Value.String())
		})
	}
}

// printChanged prints the settings that have not their defaults.
func printChanged(w io.Writer, cfg *config.Config, source map[string]string) {
	for _, s := range listSettings(cfg, source, true) {
		fmt.Fprintf(w, "%s: %q # from %s\n", s.Name, s.Value, s.Source)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func newConfigCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the settings as a start does, without the data folder",
		Long: `Check the settings of file, environment and flags, and the files that they name, as ledge serve does
at a start. The data folder is not opened. Every mistake is named, one a line.
See docs/reference/operating.md#settings.

Exit code 0 if all is right, else 2.`,
		Example: `  ledge config check --config /etc/ledge/ledge.yaml
  ledge config check --config new.yaml && systemctl restart ledge`,
	}
	asJSON := cli.AddJSONFlag(c)
	read := cli.AddSettingFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, source, err := read()
		_, unfound := secure.FindAddresses(c.Context(), cfg.BindSettings(), cfg.AllowInsecure || cfg.Secure)
		err = errors.Join(err, checkFiles(cfg), unfound)
		if *asJSON {
			if failed := cli.PrintObject(c.OutOrStdout(), map[string]any{"faults": listFaults(err, source)}); failed != nil {
				return failed
			}
		}
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		if !*asJSON {
			fmt.Fprintln(c.OutOrStdout(), "all settings are right")
		}
		return nil
	}
	return c
}

// fault is a mistake in the settings as --json has it.
type fault struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Source  string `json:"source"`
	Text    string `json:"text"`
}

// listFaults returns the mistakes in an error. source has the source of the value of each setting.
func listFaults(err error, source map[string]string) []fault {
	list := []fault{}
	for _, one := range config.ListFaults(err) {
		list = append(list, fault{one.Setting, one.Value, cmp.Or(one.Source, source[one.Setting]), one.Error()})
	}
	return list
}

// checkFiles reads the files that the settings name, as a start does.
func checkFiles(c *config.Config) error {
	_, err := config.ReadUnits(c.UnitsFile)
	units := faultOf("units-file", c.UnitsFile, err)
	_, key := secure.FindSecretKey(c.DataDir)
	if !c.Secure {
		return errors.Join(units, key)
	}
	_, err = config.ReadClientCAs(c.TLSClientCA)
	clients := faultOf("tls-client-ca", c.TLSClientCA, err)
	if c.TLSCert == "" || c.TLSKey == "" {
		return errors.Join(units, key, clients)
	}
	_, err = certs.OpenFiles(certs.FilesOptions{CertPath: c.TLSCert, KeyPath: c.TLSKey, Now: time.Now, Logger: c.NewLogger(os.Stderr)})
	return errors.Join(units, key, clients, faultOf("tls-cert", c.TLSCert, err))
}

// faultOf names the setting of an error; nil for no error.
func faultOf(setting, value string, err error) error {
	if err == nil {
		return nil
	}
	return config.Fault{Setting: setting, Value: value, Err: err}
}
