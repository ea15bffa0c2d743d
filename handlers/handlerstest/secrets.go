package handlerstest

import "ledge/domain"

// Secrets are handlers.Secrets in memory.
type Secrets struct {
	ByPath map[string]map[string]string
	Uses   map[string][]domain.SecretUse
	// Fail, if set, is what Put answers.
	Fail error
}

// Put implements handlers.Secrets.
func (s *Secrets) Put(path string, data map[string]string, uses []domain.SecretUse) error {
	if s.Fail != nil {
		return s.Fail
	}
	if s.ByPath == nil {
		s.ByPath, s.Uses = map[string]map[string]string{}, map[string][]domain.SecretUse{}
	}
	s.ByPath[path], s.Uses[path] = data, uses
	return nil
}
