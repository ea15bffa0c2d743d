package secrets

import (
	"bytes"
	"crypto/rand"
	"errors"
	"maps"
)

// keyBytes is the length of a key.
const keyBytes = 32

// errUnchanged ends a change that would change nothing.
var errUnchanged = errors.New("unchanged")

// Credential returns the hash of a password or token.
func (f *File) Credential(id string) (hash string, ok bool) {
	hash, ok = f.now().credentials[id]
	return hash, ok
}

// PutCredential stores a hash durably. Its errors are those of [Secrets.Put].
func (f *File) PutCredential(id, hash string) error {
	return f.change(func(c content) (content, error) {
		c.credentials = orEmpty(maps.Clone(c.credentials))
		c.credentials[id] = hash
		return c, nil
	})
}

// RemoveCredentials removes hashes durably, where they are stored.
func (f *File) RemoveCredentials(ids map[string]bool) error {
	return f.removeCredentials(func(stored string) bool { return ids[stored] })
}

// KeepCredentials removes the credentials that are not in ids.
func (f *File) KeepCredentials(ids map[string]bool) error {
	return f.removeCredentials(func(stored string) bool { return !ids[stored] })
}

func (f *File) removeCredentials(remove func(id string) bool) error {
	return f.change(func(c content) (content, error) {
		before := len(c.credentials)
		c.credentials = maps.Clone(c.credentials)
		maps.DeleteFunc(c.credentials, func(id, _ string) bool { return remove(id) })
		if len(c.credentials) == before {
			return c, errUnchanged
		}
		return c, nil
	})
}

// StoredKey returns the 32 random bytes of that name, if they were made.
func (f *File) StoredKey(name string) (key []byte, ok bool) {
	key, ok = f.now().keys[name]
	return bytes.Clone(key), ok
}

// Key returns the 32 random bytes of that name. The first call makes and stores them; its errors are those of [Secrets.Put].
func (f *File) Key(name string) ([]byte, error) {
	if key, ok := f.StoredKey(name); ok {
		return key, nil
	}
	err := f.change(func(c content) (content, error) {
		if _, ok := c.keys[name]; ok {
			return c, errUnchanged
		}
		key := make([]byte, keyBytes)
		rand.Read(key)
		c.keys = orEmpty(maps.Clone(c.keys))
		c.keys[name] = key
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	return bytes.Clone(f.now().keys[name]), nil
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
