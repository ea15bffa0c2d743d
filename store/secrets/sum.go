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

// content is what the file says, by service and path.
type content struct {
	secrets map[string]byPath
	uses    map[string]map[string][]domain.SecretUse
}

// sealed is the text of the file: the secrets, their uses, and the hex SHA-256 of the JSON of both without spaces. A file of an earlier
// version has no uses, and the first of them no sum: it has the secrets alone.
type sealed struct {
	Secrets json.RawMessage `json:"secrets"`
	Uses    json.RawMessage `json:"uses,omitempty"`
	Sum     string          `json:"sum"`
}

// encode returns the text of the file.
func encode(c content) ([]byte, error) {
	var s sealed
	var err error
	if s.Secrets, err = json.Marshal(c.secrets); err != nil {
		return nil, err
	}
	if len(c.uses) > 0 {
		if s.Uses, err = json.Marshal(c.uses); err != nil {
			return nil, err
		}
	}
	s.Sum = sumOf(s.Secrets, s.Uses)
	return json.Marshal(s)
}

func sumOf(texts ...[]byte) string {
	sum := sha256.Sum256(bytes.Join(texts, nil))
	return hex.EncodeToString(sum[:])
}

// errNotOurs and errAltered say nothing of the content: it may be secret.
var (
	errNotOurs = errors.New("it is not what Ledge has written")
	errAltered = errors.New("it is damaged: its content does not match its checksum")
)

// IsDamage reports whether an error of [Open] or [Check] says that the content of the file is damaged.
func IsDamage(err error) bool { return errors.Is(err, errNotOurs) || errors.Is(err, errAltered) }

// decode reads the text of the file.
func decode(text []byte) (c content, err error) {
	var s sealed
	if json.Unmarshal(text, &s) == nil && s.Sum != "" {
		var secrets, uses bytes.Buffer
		if json.Compact(&secrets, s.Secrets) != nil || len(s.Uses) > 0 && json.Compact(&uses, s.Uses) != nil || sumOf(secrets.Bytes(), uses.Bytes()) != s.Sum {
			return c, errAltered
		}
		text = s.Secrets
	} else {
		s.Uses = nil // no sum covers them
	}
	if json.Unmarshal(text, &c.secrets) != nil || c.secrets == nil || len(s.Uses) > 0 && json.Unmarshal(s.Uses, &c.uses) != nil {
		return content{}, errNotOurs
	}
	return c, nil
}

// cure completes an error of decode.
func cure(name string, err error) error {
	return fmt.Errorf("secrets: %s: %w; copy it from a folder that `ledge restore` makes of a backup, or move it away and post the secrets again", name, err)
}
