package node

import (
	"context"

	"github.com/google/uuid"

	"ledge/domain"
)

// Submit records a command of the server itself.
func (p *Part) Submit(ctx context.Context, command domain.Command) (domain.Outcome, error) {
	stamp := domain.Stamp{EventID: uuid.Must(uuid.NewV7()).String(), At: p.node.Now(), Actor: "ledge", Origin: "internal"}
	outcomes, err := p.Appender.Submit(ctx, domain.Request{Stamp: stamp, Command: command})
	if err != nil {
		return domain.Outcome{}, err
	}
	return outcomes[0], outcomes[0].Err
}
