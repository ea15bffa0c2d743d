package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/domain/spelling"
)

// didYouMean returns the known word that is most like a word, as the end of a message; "" if none is like it.
func didYouMean(word string, known []string) string {
	best := spelling.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// commandLike suggests a command below c for an argument that is none.
func commandLike(c *cobra.Command, args []string) string {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	if len(args) == 0 || len(known) == 0 {
		return ""
	}
	return didYouMean(args[0], known)
}

// flagLike suggests a flag of c for one that does not exist.
func flagLike(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	return cmp.Or(removedSetting(unknown.GetSpecifiedName()), didYouMean("--"+unknown.GetSpecifiedName(), flagNames(c.Flags(), "--")))
}

func flagNames(flags *pflag.FlagSet, prefix string) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, prefix+f.Name) })
	return names
}

// otherVariables are the environment variables that begin with LEDGE_ and are no settings.
var otherVariables = []string{"LEDGE_CONFIG", "LEDGE_ADMIN_PASSWORD", "LEDGE_ADMIN_PASSWORD_FILE"}

// foreignVariables begin the names of variables that others set: Kubernetes for a service named ledge, and the tests.
var foreignVariables = []string{"LEDGE_SERVICE_", "LEDGE_PORT_", "LEDGE_BINARY", "LEDGE_FAULTS", "LEDGE_ATTACKS", "LEDGE_PICTURES"}

// unknownVariables refuses the variables of an environment that look like settings and are none.
func unknownVariables(settings *pflag.FlagSet, environment []string) error {
	known := slices.Clone(otherVariables)
	settings.VisitAll(func(f *pflag.Flag) { known = append(known, envName(f.Name)) })
	var errs []error
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "LEDGE_") && name != "LEDGE_PORT" && !slices.Contains(known, name) && !isForeign(name) {
			setting := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "LEDGE_"), "_", "-"))
			errs = append(errs, fmt.Errorf("environment: there is no setting %s%s", name, orList(cmp.Or(removedSetting(setting), didYouMean(name, known)))))
		}
	}
	return errors.Join(errs...)
}

// orList points to the list of settings where there is no suggestion.
func orList(suggestion string) string {
	if suggestion == "" {
		return "; `ledge config` lists them"
	}
	return suggestion
}

// isForeign reports whether somebody else sets a variable.
func isForeign(name string) bool {
	return slices.ContainsFunc(foreignVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
