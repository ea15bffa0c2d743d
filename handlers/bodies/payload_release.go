package bodies

import "ledge/domain"

// Releaser ends the hold of a payload that was put; used says that there is a reading that refers to it.
type Releaser interface {
	Release(digest string, used bool)
}

// SubmitReleasing has a command recorded and releases the payloads of its readings, which may be none. Where it is in doubt whether the
// command is on record they stay held: the log takes nothing more until the next start, which collects what no reading has.
func SubmitReleasing(payloads Releaser, digests []string, submit func() (seq uint64, err error)) error {
	seq, err := submit()
	if domain.InDoubt(err) {
		return err
	}
	for _, digest := range digests {
		payloads.Release(digest, seq > 0)
	}
	return err
}
