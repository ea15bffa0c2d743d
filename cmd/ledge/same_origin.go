package main

import (
	"log/slog"
	"os"
	"strings"

	"ledge/cmd/internal/services"
	"ledge/handlers"
)

// edgexHosts are the names of the services in EdgeX's compose files, and the name that a container has for its machine.
const edgexHosts = "edgex-core-metadata,edgex-core-data,edgex-device-rest,edgex-support-notifications,host.docker.internal"

// sameOrigin says which web pages may use the services.
func (c *Config) sameOrigin(logger *slog.Logger) handlers.SameOrigin {
	hosts := append([]string{"localhost"}, c.AllowHosts.list...)
	for _, one := range services.All {
		host, _ := c.listenAt(one)
		hosts = append(hosts, host)
	}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		hosts = append(hosts, name, short)
	}
	return handlers.SameOrigin{Hosts: hosts, TrustedOrigins: c.TrustedOrigins.list, Logger: logger}
}

// texts is a setting of several texts, with commas between them. It is a pflag.Value.
type texts struct {
	list  []string
	check func(string) error
}

func newTexts(p *texts, check func(string) error, value string) *texts {
	p.check = check
	if err := p.Set(value); err != nil {
		panic(err) // the default is in the program
	}
	return p
}

func (t *texts) String() string { return strings.Join(t.list, ",") }

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
	t.list = list
	return nil
}

// Type implements pflag.Value.
func (t *texts) Type() string { return "list" }
