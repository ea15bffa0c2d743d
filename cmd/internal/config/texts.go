package config

import (
	"strings"
)

// texts is a setting of several texts, with commas between them. It is a pflag.Value.
type texts struct {
	List  []string
	check func(string) error
}

func newTexts(p *texts, check func(string) error, value string) *texts {
	p.check = check
	if err := p.Set(value); err != nil {
		panic(err) // the default is in the program
	}
	return p
}

func (t *texts) String() string { return strings.Join(t.List, ",") }

// Set implements pflag.Value.
func (t *texts) Set(text string) error {
	var list []string
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		if err := t.check(one); err != nil {
			return err
		}
		list = append(list, one)
	}
	t.List = list
	return nil
}

// Type implements pflag.Value.
func (t *texts) Type() string { return "list" }
