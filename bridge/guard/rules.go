package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rules are hosts, networks and ports, in text with commas between them. It is a pflag.Value.
//
//	10.0.0.0/8             a network
//	192.168.1.5:8883       an address, and one port of it
//	[2001:db8::1]:8080     the same of IPv6, which needs the brackets where there is a port
//	example.org            a name, as it is written in the destination
//	*.example.org:443      every name that ends so
//	*:8000-8999            every host, but only these ports
type Rules struct{ list []rule }

type rule struct {
	text      string
	any       bool         // every host
	net       netip.Prefix // or those of a network
	name      string       // or a name; with a dot in front, all that end so
	low, high int          // ports
}

// MustRules is ParseRules for what is in the program.
func MustRules(text string) Rules {
	var r Rules
	if err := r.Set(text); err != nil {
		panic(err)
	}
	return r
}

// Set parses text.
func (r *Rules) Set(text string) error {
	var list []rule
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		one, err := parse(entry)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	r.list = list
	return nil
}

func (r *Rules) String() string {
	texts := make([]string, len(r.list))
	for i, one := range r.list {
		texts[i] = one.text
	}
	return strings.Join(texts, ",")
}

// Type implements pflag.Value.
func (r *Rules) Type() string { return "rules" }

func parse(text string) (r rule, err error) {
	host, ports := cut(text)
	r = rule{text: text, low: 0, high: 65535}
	if ports != "" {
		if r.low, r.high, err = parsePorts(ports); err != nil {
			return r, fmt.Errorf("%q: %w", text, err)
		}
	}
	if host == "*" {
		r.any = true
		return r, nil
	}
	if r.net, err = parseNet(host); err == nil {
		return r, nil
	}
	r.name = canonical(strings.TrimPrefix(host, "*"))
	if r.name == "" || strings.ContainsAny(r.name, "*/:[]@ \t") {
		return r, fmt.Errorf("%q is neither a host nor a network; write it as 10.0.0.0/8, 192.168.1.5:8883, [2001:db8::1]:8080, example.org, *.example.org:443 or *:8000-8999", text)
	}
	return r, nil
}

// cut parts a host from its ports. What has several colons and no brackets is an IPv6 address.
func cut(text string) (host, ports string) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		host, ports, _ = strings.Cut(inner, "]")
		return host, strings.TrimPrefix(ports, ":")
	}
	if strings.Count(text, ":") == 1 {
		host, ports, _ = strings.Cut(text, ":")
		return host, ports
	}
	return text, ""
}

func parsePorts(text string) (low, high int, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	if low, err = strconv.Atoi(first); err == nil {
		high, err = strconv.Atoi(last)
	}
	if err != nil || low < 1 || high < low || high > 65535 {
		return 0, 0, fmt.Errorf("%q is not a port; write it as 8080 or 8000-8999", text)
	}
	return low, high, nil
}

func parseNet(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = plain(addr)
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("write %s as an IPv4 network", text) // else it would contain nothing: see plain
	}
	return p, err
}

// canonical is a name as it is compared.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func (r rule) hasPort(port int) bool { return r.low <= port && port <= r.high }

// any finds the rule for one of some addresses.
func (r *Rules) any(addrs []netip.Addr, port int) (text string, ok bool) {
	for _, one := range r.list {
		contains := one.any || slices.ContainsFunc(addrs, func(a netip.Addr) bool { return one.net.IsValid() && one.net.Contains(a) })
		if contains && one.hasPort(port) {
			return one.text, true
		}
	}
	return "", false
}

// host finds the rule for a name.
func (r *Rules) host(name string, port int) (text string, ok bool) {
	name = canonical(name)
	for _, one := range r.list {
		same := one.any || one.name != "" && (name == one.name || one.name[0] == '.' && strings.HasSuffix(name, one.name))
		if same && one.hasPort(port) {
			return one.text, true
		}
	}
	return "", false
}

// someNetwork reports whether a name may yet turn out to be in a network of the rules.
func (r *Rules) someNetwork(port int) bool {
	return slices.ContainsFunc(r.list, func(one rule) bool { return one.net.IsValid() && one.hasPort(port) })
}
