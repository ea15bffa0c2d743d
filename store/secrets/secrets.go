// Package secrets keeps three kinds of secrets in one file of the data folder that only its owner can read: the passwords and keys
// that Ledge needs for others' services, the hashes of its users' passwords and tokens ([File.Credential]), and its own keys
// ([File.Key]). They are not events, and not part of the state that is folded from events: DESIGN.md says why.
//
// Secrets for others' services leave this package by [Secrets.Use] alone, which refuses each use that nobody has allowed. No error
// shows a secret, and formatting a [File] shows none.
package secrets

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ledge/domain"
)

// byPath are the key-value pairs at each path.
type byPath map[string]map[string]string

// Secrets are those of one service: others do not see them, as in EdgeX.
type Secrets struct {
	file      *File
	service   string
	permitted Permitted
}

// Permitted are the uses, by path, that the operator allows beside those that are stored with the secrets.
type Permitted map[string][]domain.SecretUse

// Of returns the secrets of a service.
func (f *File) Of(service string, permitted Permitted) Secrets {
	byPath := Permitted{}
	for path, uses := range permitted {
		byPath[canonical(path)] = append(byPath[canonical(path)], uses...)
	}
	return Secrets{f, service, byPath}
}

// Put replaces all that is at path, with the uses of what was there, durably. A full disk is a domain.Full Error, more than the file
// may hold a domain.TooLarge one; then all is as before.
func (s Secrets) Put(path string, data map[string]string, uses []domain.SecretUse) error {
	path = canonical(path)
	return s.file.change(func(c content) (content, error) {
		c.secrets = with(c.secrets, s.service, path, maps.Clone(data), true)
		c.uses = with(c.uses, s.service, path, slices.Clone(uses), len(uses) > 0)
		return c, nil
	})
}

// with returns a copy of all in which a path of a service has v, or is not there.
func with[M ~map[string]V, V any](all map[string]M, service, path string, v V, there bool) map[string]M {
	all, mine := maps.Clone(all), maps.Clone(all[service])
	if all == nil {
		all = map[string]M{}
	}
	if mine == nil {
		mine = M{}
	}
	mine[path] = v
	if !there {
		delete(mine, path)
	}
	all[service] = mine
	if len(mine) == 0 {
		delete(all, service)
	}
	return all
}

// Use returns what is at path for one use. Where nothing is, the error is a domain.NotFound one. Where neither the secret nor the
// operator allows the use, it is a domain.Invalid one. AllowInsecure of u says that the use is insecure.
func (s Secrets) Use(path string, u domain.SecretUse) (map[string]string, error) {
	c, at := s.file.now(), canonical(path)
	data, ok := c.secrets[s.service][at]
	if !ok {
		return nil, domain.Errorf(domain.NotFound, "there is no secret %q; post it to /api/v2/secret with \"allowedUses\":[%s]", path, asJSON(u))
	}
	uses := slices.Concat(c.uses[s.service][at], s.permitted[at])
	if slices.ContainsFunc(uses, func(allowed domain.SecretUse) bool { return allowed.Covers(u) }) {
		return maps.Clone(data), nil
	}
	secure := u
	secure.AllowInsecure = false
	if slices.ContainsFunc(uses, func(allowed domain.SecretUse) bool { return allowed.Covers(secure) }) {
		return nil, domain.Errorf(domain.Invalid, `the secret %q may be used for %s only over TLS with a verified certificate; use that, or post the secret again with "allowedUses":[%s]`, path, u, asJSON(u))
	}
	return nil, domain.Errorf(domain.Invalid, `the secret %q may not be used for %s; post it again with "allowedUses":[%s]`, path, u, asJSON(u))
}

func asJSON(u domain.SecretUse) string {
	text, _ := json.Marshal(u)
	return string(text)
}

// canonical is a path as it is compared: EdgeX's secret store joins it to others, which takes these slashes away.
func canonical(path string) string { return strings.Trim(path, "/") }
