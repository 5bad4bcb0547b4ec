-- The form in which texts are searched: without case, with a final sigma as any other, and a sharp s as ss: `foldText`. A dotless i
-- stays a letter of its own.
CREATE OR REPLACE FUNCTION fold_text(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN replace(replace(lower(p_text), 'ς', 'σ'), 'ß', 'ss');
