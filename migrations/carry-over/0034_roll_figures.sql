-- Figures of a roll as a sum of changes, by group and status: statistics then read a few rows, however many voters there are.
-- Who has voted stands apart, with an empty status, because a first key approves a voter while the ballot is confirmed.
CREATE TABLE "roll_figures" (
	"voting_event_id" text NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "roll_figures_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"group_id" text NOT NULL,
	"status" text NOT NULL,
	"heads" bigint NOT NULL,
	"weight_micro" numeric NOT NULL,
	"voted" bigint NOT NULL,
	"voted_weight_micro" numeric NOT NULL,
	CONSTRAINT "roll_figures_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

ALTER TABLE "roll_figures" ADD CONSTRAINT "roll_figures_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;

INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
SELECT voting_event_id, coalesce(group_id, ''), status, count(*), sum(weight_micro),
  count(*) FILTER (WHERE source = 'poll'), coalesce(sum(weight_micro) FILTER (WHERE source = 'poll'), 0)
FROM voters WHERE deleted_at IS NULL GROUP BY 1, 2, 3;

INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
SELECT v.voting_event_id, coalesce(v.group_id, ''), '', 0, 0, count(*), sum(v.weight_micro)
FROM participation p JOIN voters v ON v.voting_event_id = p.voting_event_id AND v.id = p.participant
WHERE v.source <> 'poll' GROUP BY 1, 2;
