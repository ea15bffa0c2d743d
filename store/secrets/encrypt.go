package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// An encrypted file is one line, "ledge-secrets/1 sha256:" and the hex SHA-256 of all that follows, and then a file in the format of age.
// So damage is told from a wrong key, and is found without a key.
const (
	encryptedMark = "ledge-secrets/1 sha256:"
	sumEnd        = len(encryptedMark) + 2*sha256.Size
)

// Errors of [OpenWith] and [Check] on an encrypted file.
var (
	errNoKey    = errors.New("it is encrypted, and no key is given; give the key in the file ledge-secret-key of $CREDENTIALS_DIRECTORY")
	errWrongKey = errors.New("it is encrypted with another key; give that one in the file ledge-secret-key of $CREDENTIALS_DIRECTORY, or change the key with `ledge secrets rekey`")
)

// isKey reports whether an error of [OpenWith] or [Rekey] says that the key is missing or is not the right one.
func isKey(err error) bool { return errors.Is(err, errNoKey) || errors.Is(err, errWrongKey) }

// AgeKey encrypts the file.
type AgeKey struct {
	identity func() *age.X25519Identity // a function for the reason that File.content is one
}

// ParseKey reads an identity as age-keygen writes it: lines of comment, and a line AGE-SECRET-KEY-1….
func ParseKey(text string) (*AgeKey, error) {
	var key *AgeKey
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		identity, err := age.ParseX25519Identity(line)
		if err != nil { // the error could show the key
			return nil, errors.New("it has a line that is not an X25519 identity of age, AGE-SECRET-KEY-1…; make a key file with `age-keygen -o FILE`")
		}
		if key != nil {
			return nil, errors.New("it has more than one key; leave one")
		}
		key = &AgeKey{func() *age.X25519Identity { return identity }}
	}
	if key == nil {
		return nil, errors.New("it has no key; make a key file with `age-keygen -o FILE`")
	}
	return key, nil
}

// isEncrypted reports whether the text of a file is encrypted. What is neither encrypted nor JSON is damaged.
func isEncrypted(text []byte) bool { return bytes.HasPrefix(text, []byte(encryptedMark)) }

// encrypt returns the text of a file for key; without a key, the text itself.
func (k *AgeKey) encrypt(text []byte) ([]byte, error) {
	if k == nil {
		return text, nil
	}
	out := bytes.NewBuffer(make([]byte, sumEnd+1, sumEnd+len(text)+len(text)>>8+1024))
	w, err := age.Encrypt(out, k.identity().Recipient())
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	file := out.Bytes()
	copy(file, outerLine(file[sumEnd+1:]))
	return file, nil
}

func outerLine(encrypted []byte) string {
	sum := sha256.Sum256(encrypted)
	return encryptedMark + hex.EncodeToString(sum[:]) + "\n"
}

// decrypt returns the JSON in the text of an encrypted file.
func (k *AgeKey) decrypt(text []byte) ([]byte, error) {
	if err := checkOuter(text); err != nil {
		return nil, err
	}
	if k == nil {
		return nil, errNoKey
	}
	r, err := age.Decrypt(bytes.NewReader(text[sumEnd+1:]), k.identity())
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, errWrongKey
	}
	if err != nil {
		return nil, errNotOurs
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if err != nil {
		return nil, errNotOurs
	}
	return plain, nil
}

// checkOuter compares the sum in the first line.
func checkOuter(text []byte) error {
	if len(text) <= sumEnd || string(text[:sumEnd+1]) != outerLine(text[sumEnd+1:]) {
		return errAltered
	}
	return nil
}
