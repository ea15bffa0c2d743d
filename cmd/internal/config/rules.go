package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledge/domain/moment"
)

// Rules say which data events go when; for each, the first rule whose pattern it matches is the one that holds.
// In text they have commas between them.
//
//	camera.*.jpeg age=24h bytes=10GiB     a day, and 10 GiB of all cameras together
//	camera.>                              what else cameras give stays
//	*.*.* count=1000000                   the last million of everything else
type Rules []Rule

// Rule keeps what matches its pattern while it is younger than age, and of it the newest, so many bytes and so
// many events together; 0 is without a limit.
type Rule struct {
	pattern []string // the tokens of profile.device.source; * is any, > at the end any more of them
	Age     time.Duration
	Bytes   Size
	Count   int64
	text    map[string]string // limits as they were written, by name
}

// mostRules bounds what each event is compared with.
const mostRules = 100

// Set implements pflag.Value.
func (r *Rules) Set(text string) error {
	var list Rules
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		one, err := parseRule(strings.Fields(entry))
		if err != nil {
			return fmt.Errorf("rule %q: %w", strings.TrimSpace(entry), err)
		}
		if i := slices.IndexFunc(list, func(before Rule) bool { return before.covers(one) }); i >= 0 {
			return fmt.Errorf("rule %q: %q, which is before it, matches all that it does; put it before that", one.String(), list[i].String())
		}
		if list = append(list, one); len(list) > mostRules {
			return fmt.Errorf("there are more than %d rules; write fewer, with wildcards", mostRules)
		}
	}
	*r = list
	return nil
}

// String implements pflag.Value.
func (r *Rules) String() string {
	texts := make([]string, len(*r))
	for i, one := range *r {
		texts[i] = one.String()
	}
	return strings.Join(texts, ", ")
}

// Type implements pflag.Value.
func (r *Rules) Type() string { return "rules" }

// The limits of a rule, as they are written.
const (
	LimitAge   = "age"
	LimitBytes = "bytes"
	LimitCount = "count"
)

func (r Rule) String() string {
	text := strings.Join(r.pattern, ".")
	for _, limit := range []string{LimitAge, LimitBytes, LimitCount} {
		if r.text[limit] != "" {
			text += " " + limit + "=" + r.text[limit]
		}
	}
	return text
}

// Why is the rule with the one limit that something went by.
func (r Rule) Why(limit string) string {
	return strings.Join(r.pattern, ".") + " " + limit + "=" + r.text[limit]
}

func parseRule(fields []string) (r Rule, err error) {
	if r.pattern, err = parsePattern(fields[0]); err != nil {
		return r, err
	}
	r.text = map[string]string{}
	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		if r.text[name] != "" {
			return r, fmt.Errorf("%s is there twice; leave one out", name)
		}
		r.text[name] = value
		switch name {
		case LimitAge:
			if r.Age, err = moment.ParseDuration(value); err != nil || r.Age < time.Second {
				return r, fmt.Errorf("%q is not an age; write it as age=24h, 1s or more", f)
			}
		case LimitBytes:
			if err := r.Bytes.Set(value); err != nil || r.Bytes < 1 {
				return r, fmt.Errorf("%q is not a number of bytes; write it as bytes=10GiB, 1 or more", f)
			}
		case LimitCount:
			if r.Count, err = strconv.ParseInt(value, 10, 64); err != nil || r.Count < 1 {
				return r, fmt.Errorf("%q is not a number of events; write it as count=100000, 1 or more", f)
			}
		default:
			return r, fmt.Errorf("%q is not a limit; use age=24h, bytes=10GiB, count=100000 or none of them, with spaces between", f)
		}
	}
	return r, nil
}

// names are of the characters that the names of devices, profiles and resources are limited to.
var names = regexp.MustCompile(`^[A-Za-z0-9_~:;=-]+$`)

func parsePattern(text string) ([]string, error) {
	tokens := strings.Split(text, ".")
	last := tokens[len(tokens)-1]
	if len(tokens) > 3 || len(tokens) < 3 && last != ">" {
		return nil, fmt.Errorf("pattern %q: has not the three parts profile.device.source; write * for any of one, or > at the end for any of the rest", text)
	}
	for i, t := range tokens {
		if t != "*" && (t != ">" || i < len(tokens)-1) && !names.MatchString(t) {
			return nil, fmt.Errorf("pattern %q: %q is not a name; use a whole name, * for any, or > at the end", text, t)
		}
	}
	for len(tokens) < 3 || tokens[2] == ">" {
		tokens = append(tokens[:len(tokens)-1], "*", "*", "*")[:3]
	}
	return tokens, nil
}

// matches reports whether what a source gives falls under the pattern.
func (r Rule) matches(profile, device, source string) bool {
	any := func(token, name string) bool { return token == "*" || token == name }
	return any(r.pattern[0], profile) && any(r.pattern[1], device) && any(r.pattern[2], source)
}

// covers reports whether nothing that matches other does not match r.
func (r Rule) covers(other Rule) bool {
	return r.matches(other.pattern[0], other.pattern[1], other.pattern[2])
}

// Find returns the place of the rule that holds for a source; -1 for none.
func (r Rules) Find(profile, device, source string) int {
	return slices.IndexFunc(r, func(one Rule) bool { return one.matches(profile, device, source) })
}
