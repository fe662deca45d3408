//! What the writers of f32 and of f64 have in common: the operations of the kernel level's expansions whose instruction follows from the dtype.

/// Their types and operations, for a writer that has `l`, `depth` and `w()`. What differs stands where this is used (`single.rs`, `double.rs`).
macro_rules! operations {
    ($dtype:expr) => {
        type F = V;
        type I = V;
        type B = V;

        operations! {
            add = forms::float_forms($dtype).add;
            sub = forms::float_forms($dtype).sub;
            mul = forms::float_forms($dtype).mul;
            div = forms::float_forms($dtype).div;
            min = forms::float_forms($dtype).min;
            max = forms::float_forms($dtype).max;
            i_add = forms::bits(forms::is_long($dtype)).add;
            i_sub = forms::bits(forms::is_long($dtype)).sub;
            i_and = forms::bits(forms::is_long($dtype)).and;
            i_or = forms::bits(forms::is_long($dtype)).or;
            i_xor = forms::bits(forms::is_long($dtype)).xor;
        }

        fn fma(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product($dtype, FusedSign::Add, a, b, c)
        }
        fn fms(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product($dtype, FusedSign::Sub, a, b, c)
        }
        fn fnma(&mut self, a: V, b: V, c: V) -> V {
            self.w().fused_product($dtype, FusedSign::NegativeAdd, a, b, c)
        }
        fn sqrt(&mut self, a: V) -> V {
            self.w().op2(forms::float_forms($dtype).sqrt, a)
        }
        fn round_even(&mut self, a: V) -> V {
            self.w().rounded($dtype, a, Rounding::Nearest)
        }
        fn lt(&mut self, a: V, b: V) -> V {
            self.w().compared($dtype, a, b, FloatPredicate::LtOq)
        }
        fn le(&mut self, a: V, b: V) -> V {
            self.w().compared($dtype, a, b, FloatPredicate::LeOq)
        }
        fn eq(&mut self, a: V, b: V) -> V {
            self.w().compared($dtype, a, b, FloatPredicate::EqOq)
        }
        fn is_nan(&mut self, a: V) -> V {
            self.w().compared($dtype, a, a, FloatPredicate::UnordQ)
        }
        fn select(&mut self, c: V, a: V, b: V) -> V {
            self.w().blend(c, a, b)
        }
        fn i_shl(&mut self, a: V, by: u32) -> V {
            self.w().shift(forms::bits(forms::is_long($dtype)).shift[0], a, by)
        }
        fn i_shr(&mut self, a: V, by: u32) -> V {
            self.w().shift(forms::bits(forms::is_long($dtype)).shift[2], a, by)
        }
        fn bits(&mut self, a: V) -> V {
            a
        }
        fn of_bits(&mut self, a: V) -> V {
            a
        }
        fn and(&mut self, a: V, b: V) -> V {
            self.w().mask2(MaskOp::And, a, b)
        }
        fn or(&mut self, a: V, b: V) -> V {
            self.w().mask2(MaskOp::Or, a, b)
        }
        fn not(&mut self, a: V) -> V {
            let dst = self.l.fresh(Class::Mask);
            self.l.emit(self.depth, Op::MaskNot { dst, src: a });
            dst
        }
        fn if_any<const N: usize>(
            &mut self,
            condition: V,
            common: [V; N],
            rare: impl FnOnce(&mut Self) -> [V; N],
        ) -> [V; N] {
            let open = self.w().open_rare(common);
            let values = rare(self);
            self.w().close_rare(open, condition, common, values)
        }
    };
    ($($name:ident = $form:expr;)*) => {
        $(fn $name(&mut self, a: V, b: V) -> V {
            self.w().op3($form, a, b)
        })*
    };
}

pub(super) use operations;
