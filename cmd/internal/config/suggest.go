package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ledge/domain/spelling"
)

// SuggestSetting returns the end of a message about a name that is not a setting or flag: why a setting was removed, or the name in flags
// that is most like it. prefix is in front of the names in the message. It returns "" if there is nothing to suggest.
func SuggestSetting(name string, flags *pflag.FlagSet, prefix string) string {
	return cmp.Or(removedSetting(name), didYouMean(prefix+name, FlagNames(flags, prefix)))
}

// didYouMean returns the known word that is most like a word, as the end of a message; "" if none is like it.
func didYouMean(word string, known []string) string {
	best := spelling.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// FlagNames returns the names of flags with a prefix.
func FlagNames(flags *pflag.FlagSet, prefix string) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, prefix+f.Name) })
	return names
}

// otherVariables are the environment variables that begin with LEDGE_ and are not settings.
var otherVariables = []string{"LEDGE_CONFIG", "LEDGE_ADMIN_PASSWORD", "LEDGE_ADMIN_PASSWORD_FILE", "LEDGE_TOKEN"}

// mostVariables is how many unknown variables a warning names.
const mostVariables = 8

// UnknownVariables warns in one line of the variables of an environment that begin with LEDGE_ and are not settings, those first that
// look like one. They are not refused: Kubernetes sets LEDGE_PORT and more for a service that is named ledge.
func UnknownVariables(settings *pflag.FlagSet, environment []string) string {
	known := slices.Clone(otherVariables)
	settings.VisitAll(func(f *pflag.Flag) { known = append(known, EnvName(f.Name)) })
	var like, unlike []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, "LEDGE_")
		if !ours || slices.Contains(known, name) {
			continue
		}
		setting := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		cure := removedSetting(setting)
		if best := spelling.Nearest(setting, FlagNames(settings, "")); cure == "" && best != "" {
			cure = "; did you mean " + EnvName(best) + "?"
		}
		if cure == "" {
			unlike = append(unlike, name)
		} else {
			like = append(like, name+" ("+strings.TrimPrefix(cure, "; ")+")")
		}
	}
	slices.Sort(like)
	slices.Sort(unlike)
	list := slices.Concat(like, unlike)
	if len(list) == 0 {
		return ""
	}
	more := ""
	if n := len(list) - mostVariables; n > 0 {
		list, more = list[:mostVariables], fmt.Sprintf(" and %d more", n)
	}
	return "environment variables without effect, as there is no such setting: " + strings.Join(list, ", ") + more + "; `ledge config` lists the settings"
}

// orList points to the list of settings if nothing is suggested.
func orList(suggestion string) string {
	if suggestion == "" {
		return "; `ledge config` lists them"
	}
	return suggestion
}
