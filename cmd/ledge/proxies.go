package main

import (
	"ledge/handlers"
)

func checkProxy(text string) error {
	_, err := handlers.ParseProxy(text)
	return err
}

// proxies are the reverse proxies that say where a request comes from.
func (c *Config) proxies() (all handlers.Proxies) {
	for _, text := range c.TrustedProxies.list {
		if network, err := handlers.ParseProxy(text); err == nil { // the setting is checked
			all = append(all, network)
		}
	}
	return all
}
