package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nodeName is the form of a node's name, which is a part of NATS subjects.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkHub checks one URL of hub-url.
func checkHub(text string) error {
	at, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%q: no URL: %w", text, err)
	}
	_, secret := at.User.Password()
	switch {
	case !slices.Contains([]string{"tls", "nats", "nats-leaf", "wss", "ws"}, at.Scheme):
		return fmt.Errorf("%q: use the scheme tls, nats, wss or ws", text)
	case at.Hostname() == "":
		return fmt.Errorf("%q: name the host, such as tls://edge-1@hub.example:7422", text)
	case secret:
		return errors.New("a password must not be in a setting; put it into the file ledge-hub-password of $CREDENTIALS_DIRECTORY")
	case !nodeName.MatchString(at.User.Username()):
		return fmt.Errorf("%q: begin with the name of this node, letters, digits, - and _, such as tls://edge-1@%s", text, at.Host)
	}
	return nil
}

// hubCure returns the fault of the URLs together, or of the settings that they need; "" if there is no fault.
func hubCure(c *Config) string {
	urls, node := c.HubURLs()
	for _, at := range urls {
		if at.User.Username() != node {
			return fmt.Sprintf("this node is %s and %s; give all URLs one name", at.User.Username(), node)
		}
	}
	if len(urls) > 0 && (c.NATSPort < 0 || c.BusMaxBytes == 0) {
		return "the cluster reads the copies of the logs: set nats-port and bus-max-bytes too"
	}
	return ""
}

// mostNodeName bounds the name of a node in characters.
const mostNodeName = 64

// nodeNameCure returns the fault of the setting node-name; "" if there is none.
func nodeNameCure(c *Config) string {
	_, node := c.HubURLs()
	switch {
	case c.NodeName == "":
	case utf8.RuneCountInString(c.NodeName) > mostNodeName || strings.ContainsFunc(c.NodeName, unicode.IsControl):
		return fmt.Sprintf("use at most %d characters on one line", mostNodeName)
	case node != "" && node != c.NodeName:
		return fmt.Sprintf("hub-url names this node %s; use that name, or leave node-name out", node)
	}
	return ""
}

// FindNodeName returns the name of a node for people: the setting, or the name in hub-url, or the name of this machine.
func FindNodeName(c *Config) string {
	_, node := c.HubURLs()
	machine, _ := os.Hostname() // without it the node has no name
	return cmp.Or(c.NodeName, node, machine)
}

// HubURLs returns the URLs of the hub, without a password, and the name of this node; nil without a hub.
func (c *Config) HubURLs() (list []*url.URL, node string) {
	for _, text := range c.HubURL.List {
		at, err := url.Parse(text)
		if err != nil {
			continue // checkHub has refused it
		}
		if at.Port() == "" && at.Scheme != "ws" && at.Scheme != "wss" {
			at.Host += ":7422"
		}
		list, node = append(list, at), at.User.Username()
	}
	return list, node
}
