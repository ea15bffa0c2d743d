package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"ledge/domain"
)

// content is what the file says.
type content struct {
	// secrets and uses are by service and path.
	secrets map[string]byPath
	uses    map[string]map[string][]domain.SecretUse
	// credentials are hashes of passwords and tokens, by id.
	credentials map[string]string
	// keys are those of the program itself, by name.
	keys map[string][]byte
}

// sealed is the text of the file: its parts, and the hex SHA-256 of their JSON without spaces. An empty part but the secrets is left
// out, so a file of an earlier version has the same form. The first version wrote no sum: its file is the secrets alone.
type sealed struct {
	Secrets     json.RawMessage `json:"secrets"`
	Uses        json.RawMessage `json:"uses,omitempty"`
	Credentials json.RawMessage `json:"credentials,omitempty"`
	Keys        json.RawMessage `json:"keys,omitempty"`
	Sum         string          `json:"sum"`
}

// encode returns the text of the file. A part that is longer than its limit is a domain.TooLarge Error.
func encode(c content) ([]byte, error) {
	var s sealed
	if c.secrets == nil {
		c.secrets = map[string]byPath{}
	}
	s.Secrets = asPart(c.secrets)
	if len(c.uses) > 0 {
		s.Uses = asPart(c.uses)
	}
	if len(c.credentials) > 0 {
		s.Credentials = asPart(c.credentials)
	}
	if len(c.keys) > 0 {
		s.Keys = asPart(c.keys)
	}
	switch {
	case len(s.Secrets)+len(s.Uses) > maxBytes:
		return nil, domain.Errorf(domain.TooLarge, "all secrets together would be longer than %d bytes, which is the limit; make some shorter by posting them again", maxBytes)
	case len(s.Credentials) > maxCredentialBytes:
		return nil, domain.Errorf(domain.TooLarge, "the credentials of all users and tokens together would be longer than %d bytes, which is the limit; remove users or tokens that are not used", maxCredentialBytes)
	case len(s.Keys) > maxKeyBytes:
		return nil, domain.Errorf(domain.TooLarge, "all keys together would be longer than %d bytes, which is the limit", maxKeyBytes)
	}
	s.Sum = s.sum()
	return asPart(s), nil
}

// asPart returns the JSON of what surely has one: maps of texts.
func asPart(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("secrets: encode") // the error could show a secret
	}
	return text
}

func (s sealed) sum() string {
	sum := sha256.Sum256(bytes.Join([][]byte{s.Secrets, s.Uses, s.Credentials, s.Keys}, nil))
	return hex.EncodeToString(sum[:])
}

// compact takes the spaces out of each part. It reports whether each is JSON.
func (s *sealed) compact() bool {
	for _, part := range []*json.RawMessage{&s.Secrets, &s.Uses, &s.Credentials, &s.Keys} {
		var short bytes.Buffer
		if len(*part) > 0 && json.Compact(&short, *part) != nil {
			return false
		}
		*part = short.Bytes()
	}
	return true
}

// These errors say nothing of the content: it may be secret.
var (
	errUnreadable = errors.New("the disk cannot read it")
	errNotOurs    = errors.New("it is not what Ledge has written")
	errAltered    = errors.New("it is damaged: its content does not match its checksum")
)

// IsDamage reports whether an error of [Open] or [Check] says that the content of the file is damaged.
func IsDamage(err error) bool {
	return errors.Is(err, errUnreadable) || errors.Is(err, errNotOurs) || errors.Is(err, errAltered)
}

// decode reads the text of the file.
func decode(text []byte) (content, error) {
	var s sealed
	if json.Unmarshal(text, &s) != nil || s.Sum == "" {
		s = sealed{Secrets: text}
	} else if !s.compact() || s.sum() != s.Sum {
		return content{}, errAltered
	}
	return s.content()
}

func (s sealed) content() (content, error) {
	var c content
	if json.Unmarshal(s.Secrets, &c.secrets) != nil || c.secrets == nil {
		return content{}, errNotOurs
	}
	for _, part := range []struct {
		text json.RawMessage
		into any
	}{{s.Uses, &c.uses}, {s.Credentials, &c.credentials}, {s.Keys, &c.keys}} {
		if len(part.text) > 0 && json.Unmarshal(part.text, part.into) != nil {
			return content{}, errNotOurs
		}
	}
	return c, nil
}

// cure completes an error of decode.
func cure(name string, err error) error {
	return fmt.Errorf("secrets: %s: %w; copy it from a folder that `ledge restore` makes of a backup, or move it away and post the secrets again", name, err)
}
